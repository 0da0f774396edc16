//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// outside is what a child is compared with: the namespaces of the host and of the
// fork server, and who the child has to be. It was all read by the host itself.
type outside struct {
	host     map[string]string
	server   map[string]string
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
}

// processes are the two of a child.
type processes struct{ reaper, cell *pidfd }

func newOutside(serverPID int, level execution.Level, id identity) (outside, error) {
	self := selfProc()
	status, err := self.read("status", nil)
	if err != nil {
		return outside{}, err
	}
	filters, err := strconv.Atoi(field(status, "Seccomp_filters"))
	if err != nil {
		return outside{}, fmt.Errorf("count own filters (Linux 5.9 or later): %w", err)
	}
	o := outside{identity: id, filters: filters, bare: level == execution.LevelNoUserns, noProc: level == execution.LevelNoProc}
	if o.bare {
		if !id.root {
			o.groups = field(status, "Groups")
		}
		return o, o.checkServer(serverPID)
	}
	if o.host, err = self.namespaces(); err != nil {
		return outside{}, fmt.Errorf("own: %w", err)
	}
	server, err := openProc(strconv.Itoa(serverPID))
	if err != nil {
		return outside{}, err
	}
	defer server.close()
	if o.server, err = server.namespaces(); err != nil {
		return outside{}, fmt.Errorf("fork server: %w", err)
	}
	return o, errors.Join(o.apart("fork server", o.server, o.host, namespaceNames), o.checkServer(serverPID))
}

// checkServer: the fork server holds the capabilities that init left it, over its own
// namespaces, is who it has to be, and has one thread, so that a fork copies all of it.
func (o outside) checkServer(pid int) error {
	server, err := openProc(strconv.Itoa(pid))
	if err != nil {
		return err
	}
	defer server.close()
	status, err := server.read("status", nil)
	if err != nil {
		return err
	}
	if o.bare {
		return compareStatus("fork server", status, o.wantPowerless())
	}
	most := fmt.Sprintf("%016x", uint64(1<<unix.CAP_SYS_ADMIN|1<<unix.CAP_SETPCAP|1<<unix.CAP_SETFCAP))
	want := o.wantIdentity()
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		want[set] = most
	}
	want["CapInh"], want["CapAmb"] = noCapabilities, noCapabilities
	return compareStatus("fork server", status, want)
}

const noCapabilities = "0000000000000000"

// wantIdentity is the user and group of every process of a sandbox, four times each:
// real, effective, saved and of the file system.
func (o outside) wantIdentity() map[string]string {
	four := func(id int) string { return strings.TrimSuffix(strings.Repeat(strconv.Itoa(id)+"\t", 4), "\t") }
	return map[string]string{"Uid": four(o.identity.uid), "Gid": four(o.identity.gid), "Threads": "1"}
}

// wantPowerless adds what holds for every process without capabilities. A user other
// than 0 keeps a bounding set that nobody may empty for it, and no-new-privileges makes
// that mean nothing.
func (o outside) wantPowerless() map[string]string {
	want := o.wantIdentity()
	want["NoNewPrivs"] = "1"
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		want[set] = noCapabilities
	}
	if o.bare {
		want["Groups"] = o.groups
		if o.identity.uid != 0 {
			delete(want, "CapBnd")
		}
	}
	return want
}

func compareStatus(who string, status []byte, want map[string]string) error {
	for name, value := range want {
		if got := field(status, name); got != value {
			return fmt.Errorf("%s has %s %q, not %q", who, name, got, value)
		}
	}
	return nil
}

// apart tells which of names are shared between a and b.
func (o outside) apart(who string, a, b map[string]string, names []string) error {
	for _, n := range names {
		if a[n] == b[n] {
			return fmt.Errorf("%s shares the %s namespace", who, n)
		}
	}
	return nil
}

// check compares both processes of a child with what they must be, given how many
// system call filters the cell has to have. What the child or the fork server say
// about themselves is not asked. An error that wraps errGone means that a process
// ended meanwhile, every other one that the child is not sealed.
func (o outside) check(p processes, filters int) error {
	cell, err := p.cell.open()
	if err != nil {
		return err
	}
	defer cell.close()
	reaper, err := p.reaper.open()
	if err != nil {
		return err
	}
	defer reaper.close()
	return p.unlessGone(errors.Join(o.checkCell(cell, filters), o.checkReaper(reaper)))
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

func (o outside) checkCell(cell procDir, filters int) error {
	buf := make([]byte, 0, procFileSize)
	status, err := cell.read("status", buf)
	if err != nil {
		return err
	}
	if err := o.checkStatus("cell", status, "2", filters); err != nil || o.bare {
		return err
	}
	links, err := cell.namespaces()
	if err != nil {
		return err
	}
	if err := o.apart("cell", links, o.host, namespaceNames); err != nil {
		return err
	}
	if err := o.apart("cell", links, o.server, namespaceNames); err != nil {
		return err
	}
	return errors.Join(o.checkMaps(cell, buf), o.checkMounts(cell, buf))
}

// checkReaper: it has the fork server's namespaces, apart from the one that it is
// process 1 of, since it runs no code but the guest's.
func (o outside) checkReaper(reaper procDir) error {
	status, err := reaper.read("status", nil)
	if err != nil {
		return err
	}
	if err := o.checkStatus("reaper", status, "1", 1); err != nil || o.bare {
		return err
	}
	links, err := reaper.namespaces()
	if err != nil {
		return err
	}
	if err := o.apart("reaper", links, o.host, namespaceNames); err != nil {
		return err
	}
	return o.apart("reaper", links, o.server, []string{"pid"})
}

// checkStatus looks at /proc/PID/status: identity, number in the own namespace,
// capabilities, privileges and filters.
func (o outside) checkStatus(who string, status []byte, inner string, filters int) error {
	want := o.wantPowerless()
	want["Seccomp"], want["Seccomp_filters"] = "2", strconv.Itoa(o.filters+filters)
	if err := compareStatus(who, status, want); err != nil {
		return err
	}
	// One number per pid namespace, from the reader's to its own: the host's (which
	// may have outer ones itself), the fork server's, the child's.
	numbers := strings.Fields(field(status, "NSpid"))
	if !o.bare && (len(numbers) != 3 || numbers[2] != inner) {
		return fmt.Errorf("%s has the process numbers %q", who, numbers)
	}
	// A group or session that is shared can be signalled across pid namespaces.
	for _, name := range []string{"NSpgid", "NSsid"} {
		if got := strings.Fields(field(status, name)); !slices.Equal(got, numbers) {
			return fmt.Errorf("%s has %s %q and the process numbers %q", who, name, got, numbers)
		}
	}
	return nil
}

// checkMaps: the cell's user namespace knows one user and one group, and they are
// those of the sandbox.
func (o outside) checkMaps(cell procDir, buf []byte) error {
	for name, id := range map[string]int{"uid_map": o.identity.uid, "gid_map": o.identity.gid} {
		text, err := cell.read(name, buf)
		if err != nil {
			return err
		}
		if got := strings.Fields(string(text)); strings.Join(got, " ") != fmt.Sprintf("1000 %d 1", id) {
			return fmt.Errorf("cell has %s %q", name, got)
		}
	}
	return nil
}

// checkMounts: no mount brings set-user-id programs, and none devices apart from the
// five that are mounted one by one. Nothing but scratch can be written. /proc stands twice, the fork
// server's below the cell's, and holds nothing of a process that may be changed.
func (o outside) checkMounts(cell procDir, buf []byte) error {
	mounts, err := cell.mounts(buf)
	if err != nil {
		return err
	}
	writable := map[string]int{}
	for _, m := range mounts {
		if !m.has("nosuid") || !m.has("nodev") && !m.has("noexec") {
			return fmt.Errorf("cell has the mount %s with %v", m.point, m.options)
		}
		if !m.has("ro") {
			writable[m.point]++
		}
	}
	want := map[string]int{"/tmp": 2, workspace: 1, "/dev/shm": 1, "/proc": 2}
	if o.noProc {
		delete(want, "/proc")
	}
	for point, n := range want {
		if writable[point] != n {
			return fmt.Errorf("cell has %d writable mounts at %s, not %d", writable[point], point, n)
		}
	}
	if len(writable) != len(want) || len(mounts) == 0 {
		return fmt.Errorf("cell can write to more than scratch: %v", writable)
	}
	return nil
}

// limitNames are the lines of /proc/PID/limits.
func limitNames(l bridge.ArmLimits) map[string]int64 {
	return map[string]int64{
		"Max address space": l.AddressSpace, "Max cpu time": l.CPUSeconds, "Max processes": l.Processes,
		"Max open files": l.OpenFiles, "Max file size": l.FileSize, "Max core file size": 0,
	}
}

// checkLimits: each limit of the run is in force, or a lower one of the template.
func checkLimits(p *pidfd, l bridge.ArmLimits) error {
	dir, err := p.open()
	if err != nil {
		return err
	}
	defer dir.close()
	text, err := dir.read("limits", nil)
	if err != nil {
		return err
	}
	for name, most := range limitNames(l) {
		if most == 0 && name != "Max core file size" {
			continue
		}
		if err := checkLimit(string(text), name, most); err != nil {
			return err
		}
	}
	return nil
}

func checkLimit(text, name string, most int64) error {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name+" ")
		if !ok {
			continue
		}
		for _, value := range strings.Fields(rest)[:2] {
			if n, err := strconv.ParseInt(value, 10, 64); err != nil || n > most {
				return fmt.Errorf("%s is %s, not %d", strings.ToLower(name), value, most)
			}
		}
		return nil
	}
	return fmt.Errorf("no line for %s", strings.ToLower(name))
}
