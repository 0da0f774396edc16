//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNotDelegated is wrapped when no group can be made here. The text says why.
var ErrNotDelegated = errors.New("control groups are not delegated")

// prefix begins the names of our groups; the number of the process follows, and then
// what no other place has, in this process or in a container with the same number.
const prefix = "gearbox-"

// Place is where groups can be made. It is safe for concurrent use.
type Place struct {
	// version is 1 or 2.
	version int
	// dirs are the directories below which a group is made, by controller. In
	// version 2 all are the same.
	dirs map[string]string
}

// Version is 1 or 2.
func (p *Place) Version() int { return p.version }

// Has reports whether a controller can be used.
func (p *Place) Has(controller string) bool { return p.dirs[controller] != "" }

// system is the part of the file system that Find reads; tests use another root.
type system struct {
	mountinfo, own string // contents of /proc/self/mountinfo and /proc/self/cgroup
	root           string // put before every path
	pid            int
}

// Find finds a place below this process's own groups. It prefers version 2 and
// needs at least the memory and the pids controllers.
func Find() (*Place, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotDelegated, err)
	}
	return find(system{mountinfo: string(mountinfo), own: string(own), pid: os.Getpid()})
}

func find(s system) (*Place, error) {
	p, err2 := s.version2()
	if err2 == nil {
		return p, nil
	}
	p, err1 := s.version1()
	if err1 == nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w: version 2: %w; version 1: %w", ErrNotDelegated, err2, err1)
}

// hierarchy is one mounted control group file system and where this process is in it.
type hierarchy struct{ mount, path string }

func (h hierarchy) dir(root string) string { return filepath.Join(root, h.mount, h.path) }

// hierarchies are the mounted ones by controller; version 2 is under "".
func (s system) hierarchies() map[string]hierarchy {
	paths := map[string]string{}
	for line := range strings.Lines(s.own) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			for _, c := range strings.Split(parts[1], ",") {
				paths[c] = parts[2]
			}
		}
	}
	out := map[string]hierarchy{}
	for line := range strings.Lines(s.mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		mount, source := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(source) < 3 || mount[3] != "/" {
			continue // a mount of a part shows other paths than /proc/self/cgroup
		}
		switch source[0] {
		case "cgroup2":
			out[""] = hierarchy{mount[4], paths[""]}
		case "cgroup":
			for _, c := range strings.Split(source[2], ",") {
				if path, mine := paths[c]; mine {
					out[c] = hierarchy{mount[4], path}
				}
			}
		}
	}
	return out
}

// version2 uses the own group of this process as the place, if it was delegated:
// the group can be written and its controllers can be passed on. The kernel
// allows that only for a group without processes of its own, so this process
// moves into a leaf below; it does so only when nobody else is in the group.
func (s system) version2() (*Place, error) {
	h, ok := s.hierarchies()[""]
	if !ok {
		return nil, errors.New("not mounted")
	}
	dir := h.dir(s.root)
	have, err := words(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(have, "memory") || !slices.Contains(have, "pids") {
		return nil, fmt.Errorf("%s offers the controllers %v, not memory and pids", dir, have)
	}
	if err := s.passOn(dir, have); err != nil {
		return nil, err
	}
	p := &Place{version: 2, dirs: map[string]string{}}
	for _, c := range []string{"memory", "pids", "cpu"} {
		if slices.Contains(have, c) {
			p.dirs[c] = dir
		}
	}
	return p, p.sweep()
}

func (s system) passOn(dir string, have []string) error {
	control := filepath.Join(dir, "cgroup.subtree_control")
	on, err := words(control)
	if err != nil {
		return err
	}
	if slices.Contains(on, "memory") && slices.Contains(on, "pids") {
		return nil
	}
	if err := s.moveAside(dir); err != nil {
		return err
	}
	var enable []string
	for _, c := range []string{"memory", "pids", "cpu"} {
		if slices.Contains(have, c) {
			enable = append(enable, "+"+c)
		}
	}
	return write(control, strings.Join(enable, " "))
}

func (s system) moveAside(dir string) error {
	members, err := words(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	me := strconv.Itoa(s.pid)
	if slices.ContainsFunc(members, func(m string) bool { return m != me }) {
		return fmt.Errorf("%s holds other processes: start this one in a scope of its own (systemd-run --user --scope -p Delegate=yes …)", dir)
	}
	leaf := filepath.Join(dir, prefix+"server")
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return write(filepath.Join(leaf, "cgroup.procs"), me)
}

// version1 needs a hierarchy for memory and one for pids, both writable.
func (s system) version1() (*Place, error) {
	all := s.hierarchies()
	p := &Place{version: 1, dirs: map[string]string{}}
	for _, c := range []string{"memory", "pids", "cpu"} {
		h, ok := all[c]
		if !ok {
			continue
		}
		dir := h.dir(s.root)
		if err := writable(dir, s.pid); err != nil {
			return nil, err
		}
		p.dirs[c] = dir
	}
	if !p.Has("memory") || !p.Has("pids") {
		return nil, errors.New("memory and pids are not mounted")
	}
	return p, p.sweep()
}

// writable tries what every run will do: make a group and remove it.
func writable(dir string, pid int) error {
	trial := filepath.Join(dir, fmt.Sprintf("%s%d-trial", prefix, pid))
	if err := os.Mkdir(trial, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Remove(trial)
}

// sweep removes the groups of dead servers. The kernel refuses to remove one that
// still holds a process.
func (p *Place) sweep() error {
	for _, dir := range p.unique("memory", "pids", "cpu") {
		left, err := filepath.Glob(filepath.Join(dir, prefix+"*-*"))
		if err != nil {
			return err
		}
		for _, path := range left {
			number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
			if _, err := os.Stat(filepath.Join("/proc", number)); errors.Is(err, os.ErrNotExist) {
				_ = os.Remove(path)
			}
		}
	}
	return nil
}

// unique are the directories of some controllers, without repetition.
func (p *Place) unique(controllers ...string) []string {
	var out []string
	for _, c := range controllers {
		if d := p.dirs[c]; d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

func words(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	return strings.Fields(string(b)), err
}

// write changes a file of the kernel's: it is there already, and one write is one
// command.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
