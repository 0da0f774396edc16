//go:build linux

package cgroup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Limits bound a group; zero means no limit.
type Limits struct {
	// Memory counts what all processes touch: private pages, shared memory, files
	// in memory, and the kernel's own pages for them.
	Memory execution.Bytes
	// Processes counts processes and threads together.
	Processes int
	// CPUs is how many processors' worth of time the group may use.
	CPUs float64
}

// Usage is what the kernel counted.
type Usage struct {
	MemoryPeak execution.Bytes
	// OOMKills is how many processes died because memory ran out.
	OOMKills int
	// Refused is how many processes or threads the limit refused.
	Refused int
}

// Group is one group of processes.
type Group struct {
	place *Place
	name  string
	// dirs are the directories that it has been made below.
	dirs []string
}

// New makes an empty group with its limits in force. It can have a limit on processors
// later only if it has one now: what nobody counts costs nothing.
func (p *Place) New(l Limits) (*Group, error) {
	controllers := []string{"memory", "pids"}
	if l.CPUs > 0 {
		controllers = append(controllers, "cpu")
	}
	g := &Group{place: p, name: fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), rand.Text()), dirs: p.unique(controllers...)}
	for _, dir := range g.dirs {
		if err := os.Mkdir(filepath.Join(dir, g.name), 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("make a control group: %w", err), g.remove())
		}
	}
	if err := g.Limit(l); err != nil {
		return nil, errors.Join(fmt.Errorf("limit a control group: %w", err), g.remove())
	}
	return g, nil
}

func (g *Group) file(controller, name string) string {
	return filepath.Join(g.place.dirs[controller], g.name, name)
}

// cpuPeriod is the kernel's default, in microseconds.
const cpuPeriod = 100_000

// Limit puts limits in force, in place of those that were.
func (g *Group) Limit(l Limits) error {
	var errs []error
	set := func(controller, name, value string) {
		errs = append(errs, write(g.file(controller, name), value))
	}
	memory := strconv.FormatInt(int64(l.Memory), 10)
	switch {
	case l.Memory > 0 && g.place.version == 2:
		set("memory", "memory.max", memory)
		// All or nothing: a tree that lost one process to the limit is of no use.
		set("memory", "memory.oom.group", "1")
		errs = append(errs, optional(g.file("memory", "memory.swap.max"), "0"))
	case l.Memory > 0:
		set("memory", "memory.limit_in_bytes", memory)
		errs = append(errs, optional(g.file("memory", "memory.memsw.limit_in_bytes"), memory))
	}
	if l.Processes > 0 {
		set("pids", "pids.max", strconv.Itoa(l.Processes))
	}
	if quota := int(l.CPUs * cpuPeriod); quota > 0 && g.place.Has("cpu") {
		if g.place.version == 2 {
			set("cpu", "cpu.max", fmt.Sprintf("%d %d", quota, cpuPeriod))
		} else {
			set("cpu", "cpu.cfs_quota_us", strconv.Itoa(quota))
		}
	}
	return errors.Join(errs...)
}

// optional writes a file that only some kernels have: swap accounting is a choice
// of the kernel's configuration.
func optional(path, text string) error {
	if err := write(path, text); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Enter is what a process of one thread writes to each of a group's [Group.Doors].
const Enter = "0"

// Doors are files through which a process enters the group, to be closed by the caller.
// What it starts afterwards is in the group too; memory that it touched before stays
// charged to where it was.
//
// A process goes in by itself because another one that moves it would have to wait until
// no process of the machine is being forked, executed or ended, which takes the kernel a
// grace period of all processors: many milliseconds. A thread of version 1 that moves
// itself waits for nobody (cgroup_procs_write_start in kernel/cgroup/cgroup.c).
func (g *Group) Doors() (doors []*os.File, err error) {
	name := "tasks"
	if g.place.version == 2 {
		name = "cgroup.procs" // its threads cannot be moved one by one
	}
	for _, dir := range g.dirs {
		f, err := os.OpenFile(filepath.Join(dir, g.name, name), os.O_WRONLY, 0)
		if err != nil {
			for _, d := range doors {
				_ = d.Close()
			}
			return nil, fmt.Errorf("open a control group: %w", err)
		}
		doors = append(doors, f)
	}
	return doors, nil
}

// Holds reports whether a process is in the group, given the text of its
// /proc/PID/cgroup.
func (g *Group) Holds(text string) bool {
	in := 0
	for line := range strings.Lines(text) {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), "/"+g.name) {
			in++
		}
	}
	return in == len(g.dirs)
}

// Usage reads what the kernel counted so far.
func (g *Group) Usage() (Usage, error) {
	peak, events := "memory.max_usage_in_bytes", "memory.oom_control"
	if g.place.version == 2 {
		peak, events = "memory.peak", "memory.events"
	}
	var u Usage
	bytes, err := words(g.file("memory", peak))
	switch {
	case errors.Is(err, os.ErrNotExist): // memory.peak came with Linux 5.19
	case err != nil:
		return u, err
	case len(bytes) == 1:
		n, err := strconv.ParseInt(bytes[0], 10, 64)
		if err != nil {
			return u, err
		}
		u.MemoryPeak = execution.Bytes(n)
	}
	if u.OOMKills, err = counter(g.file("memory", events), "oom_kill"); err != nil {
		return u, err
	}
	u.Refused, err = counter(g.file("pids", "pids.events"), "max")
	return u, err
}

// counter reads one line of a file of "name number" lines.
func counter(path, name string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("%s has no line %s", path, name)
}

// Kill ends every process in the group, where the kernel can do that in one step
// (version 2, Linux 5.14). It reports whether it could.
func (g *Group) Kill() bool {
	return g.place.version == 2 && write(g.file("memory", "cgroup.kill"), "1") == nil
}

// removeEvery is how often a group is tried to be removed whose processes are
// dead but not gone yet.
const removeEvery = 2 * time.Millisecond

// Close removes the group. Its processes have to be dead; the kernel may need a
// moment to let go of them, and Close waits at most that long.
func (g *Group) Close(wait time.Duration) error {
	ticker := time.NewTicker(removeEvery)
	defer ticker.Stop()
	for end := time.Now().Add(wait); ; {
		err := g.remove()
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
			return err
		}
		<-ticker.C
	}
}

func (g *Group) remove() error {
	var errs []error
	for _, dir := range g.dirs {
		if err := os.Remove(filepath.Join(dir, g.name)); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
