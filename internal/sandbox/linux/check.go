//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

// outside is what a child is compared with: the namespaces of the host and of the
// fork server, and who the child has to be. It was all read by the host itself.
type outside struct {
	host     namespaceIDs
	server   namespaceIDs
	identity identity
	// filters is how many system call filters this process has itself, as in a
	// container: every process below inherits them.
	filters int
	// bare: there are no namespaces that could be compared, and the identity and the
	// groups are all that tells a child from other processes.
	bare   bool
	groups string
	// noProc: the child's /proc is an empty directory.
	noProc bool
	// powerless and serving are what the lines of status have to say of a child's
	// processes and of the fork server.
	powerless, serving status
}

// processes are the two of a child.
type processes struct{ reaper, cell *pidfd }

// requirement is what one child has to be beyond what all have to.
type requirement struct {
	// filters is how many system call filters the cell has.
	filters int
	// limits are the highest that may be in force; those that are zero do not matter.
	limits bridge.ArmLimits
	// group is the control group that the cell is in, if any.
	group *cgroup.Group
}

func newOutside(serverPID int, level execution.Level, id identity) (outside, error) {
	o := outside{identity: id, bare: level == execution.LevelNoUserns, noProc: level == execution.LevelNoProc}
	own, err := openProc(os.Getpid(), &reader{})
	if err != nil {
		return outside{}, err
	}
	defer own.close()
	text, err := own.file("status")
	if err != nil {
		return outside{}, err
	}
	if o.filters, err = strconv.Atoi(field(text, "Seccomp_filters")); err != nil {
		return outside{}, fmt.Errorf("count own filters (Linux 5.9 or later): %w", err)
	}
	if o.bare && !id.root {
		o.groups = field(text, "Groups")
	}
	o.powerless, o.serving = o.wantPowerless(), o.wantServing()
	if o.bare {
		return o, o.checkServer(serverPID, own.reader)
	}
	if o.host, err = own.namespaces(); err != nil {
		return outside{}, fmt.Errorf("read own namespaces: %w", err)
	}
	server, err := openProc(serverPID, own.reader)
	if err != nil {
		return outside{}, err
	}
	defer server.close()
	if o.server, err = server.namespaces(); err != nil {
		return outside{}, fmt.Errorf("read the fork server's namespaces: %w", err)
	}
	return o, errors.Join(apart("fork server", o.server, o.host), o.checkServer(serverPID, own.reader))
}

// checkServer: the fork server holds the capabilities that init left it, over its own
// namespaces, is who it has to be, and has one thread, so that a fork copies all of it.
func (o outside) checkServer(pid int, r *reader) error {
	text, err := r.ofProcess(pid, "status")
	if err != nil {
		return err
	}
	return o.serving.compare("fork server", text)
}

const noCapabilities = "0000000000000000"

// status are lines of /proc/PID/status.
type status []struct{ name, value string }

func (s status) with(name, value string) status {
	return append(s, struct{ name, value string }{name, value})
}

func (s status) compare(who string, text []byte) error {
	for _, want := range s {
		if got := fieldOf(text, want.name); string(got) != want.value {
			return fmt.Errorf("%s has %s %q, not %q", who, want.name, got, want.value)
		}
	}
	return nil
}

// wantIdentity is the user and group of every process of a sandbox, four times each:
// real, effective, saved and of the file system.
func (o outside) wantIdentity() status {
	four := func(id int) string { return strings.TrimSuffix(strings.Repeat(strconv.Itoa(id)+"\t", 4), "\t") }
	return status{{"Uid", four(o.identity.uid)}, {"Gid", four(o.identity.gid)}, {"Threads", "1"}}
}

// wantPowerless adds what holds for every process without capabilities. A user other
// than 0 keeps a bounding set that nobody may empty for it, and no-new-privileges makes
// that mean nothing.
func (o outside) wantPowerless() status {
	want := o.wantIdentity().with("NoNewPrivs", "1")
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if set != "CapBnd" || !o.bare || o.identity.uid == 0 {
			want = want.with(set, noCapabilities)
		}
	}
	if o.bare {
		want = want.with("Groups", o.groups)
	}
	return want
}

// wantServing is what holds for the fork server.
func (o outside) wantServing() status {
	if o.bare {
		return o.wantPowerless()
	}
	most := fmt.Sprintf("%016x", uint64(1<<unix.CAP_SYS_ADMIN|1<<unix.CAP_SETPCAP|1<<unix.CAP_SETFCAP))
	want := o.wantIdentity().with("CapInh", noCapabilities).with("CapAmb", noCapabilities)
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		want = want.with(set, most)
	}
	return want
}

// apart tells which namespaces are shared, of all or of those that are named.
func apart(who string, a, b namespaceIDs, names ...string) error {
	for i, n := range namespaceNames {
		if a[i] == b[i] && (len(names) == 0 || slices.Contains(names, n)) {
			return fmt.Errorf("%s shares the %s namespace", who, n)
		}
	}
	return nil
}

// check compares both processes of a child with what they must be. What the child or the
// fork server say about themselves is not asked. An error that wraps errGone means that a
// process ended meanwhile, every other one that the child is not sealed.
func (o outside) check(p processes, r requirement, shared *reader) error {
	cell, err := p.cell.open(shared)
	if err != nil {
		return err
	}
	defer cell.close()
	reaper, err := p.reaper.open(shared)
	if err != nil {
		return err
	}
	defer reaper.close()
	return p.unlessGone(errors.Join(o.checkCell(cell, r), o.checkReaper(reaper)))
}

// unlessGone turns a finding into errGone if a process ended meanwhile: what was read
// may have been one that somebody was just killing.
func (p processes) unlessGone(finding error) error {
	if finding == nil {
		return nil
	}
	for _, p := range []*pidfd{p.cell, p.reaper} {
		if p.hasEnded(endGrace) {
			return fmt.Errorf("%w: %w", errGone, finding)
		}
	}
	return finding
}

// endGrace is how long a process that looks wrong may take to turn out to be dying:
// the kernel takes it apart before it says that it has ended.
const endGrace = 200 * time.Millisecond

func (o outside) checkCell(d procDir, r requirement) error {
	if err := o.checkStatus("cell", d, "2", r.filters); err != nil {
		return err
	}
	if err := errors.Join(checkLimits(d, r.limits), checkGroup(d, r.group)); err != nil || o.bare {
		return err
	}
	ids, err := d.namespaces()
	if err != nil {
		return err
	}
	return errors.Join(apart("cell", ids, o.host), apart("cell", ids, o.server), o.checkMaps(d), o.checkMounts(d))
}

// checkReaper: it has the fork server's namespaces, apart from the one that it is
// process 1 of, since it runs no code but the host's.
func (o outside) checkReaper(d procDir) error {
	if err := o.checkStatus("reaper", d, "1", 1); err != nil || o.bare {
		return err
	}
	ids, err := d.namespaces()
	if err != nil {
		return err
	}
	return errors.Join(apart("reaper", ids, o.host), apart("reaper", ids, o.server, "pid"))
}

// checkStatus looks at /proc/PID/status: identity, number in the own namespace,
// capabilities, privileges and filters.
func (o outside) checkStatus(who string, d procDir, inner string, filters int) error {
	text, err := d.file("status")
	if err != nil {
		return err
	}
	if err := o.powerless.compare(who, text); err != nil {
		return err
	}
	own := status{{"Seccomp", "2"}, {"Seccomp_filters", strconv.Itoa(o.filters + filters)}}
	if err := own.compare(who, text); err != nil {
		return err
	}
	// One number per pid namespace, from the reader's to its own: the host's (which
	// may have outer ones itself), the fork server's, the child's.
	numbers := fieldOf(text, "NSpid")
	if f := bytes.Fields(numbers); !o.bare && (len(f) != 3 || string(f[2]) != inner) {
		return fmt.Errorf("%s has the process numbers %q", who, numbers)
	}
	// A group or session that is shared can be signalled across pid namespaces.
	for _, name := range []string{"NSpgid", "NSsid"} {
		if got := fieldOf(text, name); !bytes.Equal(got, numbers) {
			return fmt.Errorf("%s has %s %q and the process numbers %q", who, name, got, numbers)
		}
	}
	return nil
}

// checkMaps: the cell's user namespace knows one user and one group, and they are
// those of the sandbox.
func (o outside) checkMaps(d procDir) error {
	for _, m := range []struct {
		name string
		id   int
	}{{"uid_map", o.identity.uid}, {"gid_map", o.identity.gid}} {
		text, err := d.file(m.name)
		if err != nil {
			return err
		}
		if f := bytes.Fields(text); len(f) != 3 || string(f[0]) != "1000" || string(f[1]) != strconv.Itoa(m.id) || string(f[2]) != "1" {
			return fmt.Errorf("cell has %s %q", m.name, text)
		}
	}
	return nil
}

// checkMounts: no mount brings set-user-id programs, and none devices apart from the
// five that are mounted one by one. Nothing but scratch can be written. /proc stands twice, the fork
// server's below the cell's, and holds nothing of a process that may be changed.
func (o outside) checkMounts(d procDir) error {
	text, err := d.file("mountinfo")
	if err != nil {
		return err
	}
	want := [...]writable{{point: "/tmp", want: 2}, {point: workspace, want: 1}, {point: "/dev/shm", want: 1}, {point: "/proc", want: 2}}
	if o.noProc {
		want[len(want)-1].want = 0
	}
	for line := range bytes.Lines(text) {
		m, err := parseMount(line)
		if err != nil {
			return err
		}
		if !m.has("nosuid") || !m.has("nodev") && !m.has("noexec") {
			return fmt.Errorf("cell has the mount %s with %s", m.point, m.options)
		}
		if m.has("ro") {
			continue
		}
		i := slices.IndexFunc(want[:], func(w writable) bool { return w.point == string(m.point) })
		if i < 0 {
			return fmt.Errorf("cell can write to more than scratch: %s", m.point)
		}
		want[i].got++
	}
	for _, w := range want {
		if w.got != w.want {
			return fmt.Errorf("cell has %d writable mounts at %s, not %d", w.got, w.point, w.want)
		}
	}
	return nil
}

// writable is a place that may be written, and how many mounts of it there are.
type writable struct {
	point     string
	want, got int
}

// checkLimits: each limit of the run is in force, or a lower one of the template.
func checkLimits(d procDir, l bridge.ArmLimits) error {
	text, err := d.file("limits")
	if err != nil {
		return err
	}
	for _, limit := range []struct {
		name string // as a line of /proc/PID/limits begins
		most int64
	}{
		{"Max address space", l.AddressSpace},
		{"Max cpu time", l.CPUSeconds},
		{"Max processes", l.Processes},
		{"Max open files", l.OpenFiles},
		{"Max file size", l.FileSize},
	} {
		if limit.most == 0 {
			continue
		}
		if err := checkLimit(text, limit.name, limit.most); err != nil {
			return err
		}
	}
	return checkLimit(text, "Max core file size", 0)
}

func checkLimit(text []byte, name string, most int64) error {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(name+" "))
		if !ok {
			continue
		}
		for _, value := range bytes.Fields(rest)[:2] {
			if n, err := strconv.ParseInt(string(value), 10, 64); err != nil || n > most {
				return fmt.Errorf("%s is %s, not %d", strings.ToLower(name), value, most)
			}
		}
		return nil
	}
	return fmt.Errorf("no line for %s", strings.ToLower(name))
}

// checkGroup: the cell, and with it all that it will start, is in its group. The reaper
// is not, since it runs nothing of the program.
func checkGroup(d procDir, g *cgroup.Group) error {
	if g == nil {
		return nil
	}
	text, err := d.file("cgroup")
	if err != nil {
		return err
	}
	if !g.Holds(string(text)) {
		return fmt.Errorf("cell is in other control groups than its own: %q", text)
	}
	return nil
}
