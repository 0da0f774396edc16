//go:build linux && (amd64 || arm64)

package linux

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/seccomp"
)

const (
	// initName marks the re-executed binary. Nothing else is passed by argument:
	// arguments can be read inside the sandbox.
	initName = "gearbox-sandbox-init"
	// Descriptors of init, in the order of exec.Cmd.ExtraFiles.
	initConfigFD  = 3
	initControlFD = 4
	// controlFD is where the fork server expects its control socket.
	controlFD = 3
	// hostProcFD is where the fork server expects the host's /proc, if it may not
	// have one of its own.
	hostProcFD = 4

	hostName = "sandbox"
	// rootPoint is covered by the new root while that is built. Nothing that is
	// mounted into it comes from there.
	rootPoint = "/sys"
	// rootSize bounds the guest's files and the few of /etc.
	rootSize = "size=8m,mode=755"
)

// initConfig is what the host tells init.
type initConfig struct {
	Level execution.Level
	// Plan is the root to build, where there are namespaces to build one in.
	Plan plan
	Argv []string
	Env  []string
	// UID and GID are whom to become where no namespace maps the user, if
	// ChangeUser says that init is root.
	UID, GID   int
	ChangeUser bool
	// OnlyNamespaces makes init report at once: the first step of a probe.
	OnlyNamespaces bool
}

// initReport is the first datagram on the control socket: the step that failed, or
// from the fork server that it is ready.
type initReport struct {
	Event  string `json:"event"`
	Step   string `json:"step,omitempty"`
	Error  string `json:"error,omitempty"`
	Errno  int    `json:"errno,omitempty"`
	Python string `json:"python,omitempty"`
}

// Events of [initReport].
const (
	eventReady  = "ready"
	eventFailed = "failed"
)

// MaybeInit turns this process into the init of a sandbox if it was started as
// one, and returns otherwise. It belongs first in main: whatever runs before it
// runs once more for every fork server.
func MaybeInit() {
	if len(os.Args) == 0 || os.Args[0] != initName {
		return
	}
	// Capabilities belong to threads, and exec keeps those of its own.
	runtime.LockOSThread()
	step, err := runInit()
	reportInit(step, err)
	os.Exit(1) //nolint:forbidigo // the process was only init: there is no main to return to
}

// reportInit sends the outcome to the host. Without it the host sees only that the
// process ended.
func reportInit(step string, err error) {
	report := initReport{Event: eventReady}
	if err != nil {
		report = initReport{Event: eventFailed, Step: step, Error: err.Error()}
		var errno syscall.Errno
		if errors.As(err, &errno) {
			report.Errno = int(errno)
		}
	}
	data, err := json.Marshal(report)
	if err != nil {
		return
	}
	_ = unix.Send(initControlFD, data, 0)
	// Ending with the host's message unread would reset the connection and lose the
	// report: stay until the host has read it and hangs up.
	buf := make([]byte, maxDatagram)
	for {
		n, err := unix.Read(initControlFD, buf)
		if n <= 0 && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// runInit builds the root and becomes the fork server. It returns only when a step
// failed, or when there was nothing to do.
func runInit() (step string, err error) {
	var c initConfig
	if err := json.NewDecoder(os.NewFile(initConfigFD, "config")).Decode(&c); err != nil {
		return "configuration", err
	}
	if c.OnlyNamespaces {
		return "", nil
	}
	for _, s := range c.steps() {
		if err := s.run(); err != nil {
			return s.name, err
		}
	}
	return "", nil
}

type initStep struct {
	name string
	run  func() error
}

func (c initConfig) steps() []initStep {
	if c.Level == execution.LevelNoUserns {
		return []initStep{
			{stepIdentity, func() error { return shedPrivileges(c) }},
			{stepInterpreter, func() error { return become(c, -1, -1) }},
		}
	}
	hostProc, reapers := -1, -1
	proc := func() error { return mountProc(rootPoint) }
	if c.Level == execution.LevelNoProc {
		proc = func() (err error) {
			hostProc, err = openHostProc()
			return err
		}
	}
	return []initStep{
		{stepRoot, makeRoot},
		{stepMounts, func() error { return populate(rootPoint, c.Plan) }},
		{stepProc, proc},
		{stepPivot, func() error { return enterRoot(rootPoint) }},
		{stepCapabilities, boundCapabilities},
		{stepNursery, func() (err error) {
			reapers, err = startNursery(hostProc)
			return err
		}},
		{stepInterpreter, func() error { return become(c, hostProc, reapers) }},
	}
}

// The steps of init, as reports name them.
const (
	stepRoot         = "root"
	stepMounts       = "mounts"
	stepProc         = "proc"
	stepPivot        = "pivot"
	stepCapabilities = "capabilities"
	stepNursery      = "nursery"
	stepInterpreter  = "interpreter"
	stepIdentity     = "identity"
	// Steps of the host itself, before init.
	stepLandlock = "landlock"
	stepShelter  = "shelter"
)

func makeRoot() error {
	// What is mounted from here on stays here, and nothing new arrives.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("root", rootPoint, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, rootSize); err != nil {
		return fmt.Errorf("mount root: %w", err)
	}
	if err := unix.Sethostname([]byte(hostName)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return nil
}

// populate fills the new root. Links come before mounts, since a mount may lie
// below one.
func populate(root string, p plan) error {
	unix.Umask(0)
	defer unix.Umask(0o022)
	for _, d := range p.Directories {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	for _, l := range p.Links {
		at := filepath.Join(root, l.Path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(l.Target, at); err != nil {
			return err
		}
	}
	for _, f := range p.Files {
		if err := writeFile(filepath.Join(root, f.Path), f.Data); err != nil {
			return err
		}
	}
	for _, m := range p.Mounts {
		if err := m.attach(root); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// attach binds m below root, read-only, without set-user-id bits and devices. The
// flags reach submounts too: those of a mount that came from the host's namespace
// may be tightened but not loosened (mount_namespaces(7)).
func (m bind) attach(root string) error {
	st, err := os.Stat(m.Source)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotMounted, err)
	}
	target := filepath.Join(root, m.Target)
	if err := makePoint(target, st.IsDir()); err != nil {
		return err
	}
	if m.Unnamed || m.Overlaid {
		if err := overlay(root, m.Source, target); err == nil || m.Overlaid {
			return err
		}
	}
	if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", m.Source, err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if m.Device {
		attr.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	} else {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("make %s read-only: %w", m.Target, err)
	}
	return nil
}

// overlay shows a directory through a read-only overlay of itself and nothing. The
// list of mounts names the source of a bind, but of an overlay only the options,
// and these name a place that is gone when it is read. The nothing is /run, which
// stays empty and stays there: a directory that is removed ends every listing that
// it has a part in. Where the kernel has no overlay for user namespaces (before Linux
// 5.11) a bind shows the same files.
func overlay(root, source, target string) (err error) {
	lower, empty := filepath.Join(root, "lower"), filepath.Join(root, emptyPlace)
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(lower, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(lower)) }()
	if err := unix.Mount(source, lower, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	// Runs before the removal of its directory.
	defer func() { err = errors.Join(err, unix.Unmount(lower, unix.MNT_DETACH)) }()
	flags := uintptr(unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV)
	return unix.Mount("overlay", target, "overlay", flags, "lowerdir="+lower+":"+empty)
}

// emptyPlace is a directory of every sandbox that holds nothing.
const emptyPlace = "/run"

// makePoint makes something to mount upon, unless a mount above shows it already.
func makePoint(target string, dir bool) error {
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(target, 0o755)
	}
	return writeFile(target, nil)
}

func mountProc(root string) error {
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", flags, ""); err != nil {
		return fmt.Errorf("mount proc: %w", err)
	}
	return nil
}

// openHostProc takes hold of the host's /proc while it is in sight. Children map their
// users through it and close it before anything else runs; nothing sees it as a path.
func openHostProc() (int, error) {
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open the host's /proc: %w", err)
	}
	return fd, nil
}

// enterRoot makes root the root and lets go of the old one. Stacking the old root
// upon the new needs no directory for it (pivot_root(2)).
func enterRoot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter /: %w", err)
	}
	flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV)
	if err := unix.Mount("", "/", "", flags, ""); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return nil
}

// boundCapabilities leaves the fork server what forking children takes:
//
//   - CAP_SYS_ADMIN for namespaces and their mounts,
//   - CAP_SETPCAP to empty the bounding sets of children,
//   - CAP_SETFCAP without which the kernel refuses to map user 0 into the child's
//     namespace (CVE-2021-3493, since Linux 5.12).
//
// CAP_SETUID and CAP_DAC_OVERRIDE above all go: under root the namespace maps the
// host's user 0, so that init can reach an interpreter that only root can reach.
func boundCapabilities() error {
	for c := uintptr(0); ; c++ {
		if c == unix.CAP_SYS_ADMIN || c == unix.CAP_SETPCAP || c == unix.CAP_SETFCAP {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_SETFCAP {
			// Beyond the last one that this kernel knows.
			return nil
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
}

// startNursery forks the nursery and returns the socket to it.
func startNursery(hostProc int) (channel int, err error) {
	n, channel, err := newNursery(seccomp.Reaper(), hostProc)
	if err != nil {
		return -1, err
	}
	return channel, n.start()
}

// become replaces init by the fork server. The control socket moves onto the
// config's number, a kept /proc and the socket to the nursery behind it, and every other
// descriptor closes upon exec.
func become(c initConfig, hostProc, reapers int) error {
	if err := unix.CloseRange(firstUnused, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	for _, d := range []struct{ from, to int }{{initControlFD, controlFD}, {hostProc, hostProcFD}, {reapers, nurseryFD}} {
		if d.from < 0 {
			continue
		}
		if err := pass(d.from, d.to); err != nil {
			return fmt.Errorf("move descriptor %d to %d: %w", d.from, d.to, err)
		}
	}
	if err := syscall.Exec(c.Argv[0], c.Argv, c.Env); err != nil {
		return fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	return nil
}

// pass makes a descriptor survive exec under another number.
func pass(from, to int) error {
	if from == to {
		_, err := unix.FcntlInt(uintptr(from), unix.F_SETFD, 0)
		return err
	}
	return unix.Dup3(from, to, 0)
}
