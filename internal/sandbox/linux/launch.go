//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/seccomp"
)

const (
	// launchTimeout bounds the start of a fork server: an interpreter without
	// byte code on a slow disk takes seconds.
	launchTimeout = 60 * time.Second
	// reapTimeout bounds the wait for output that a killed process left behind.
	reapTimeout = time.Second
	// maxDatagram bounds one message on the control socket.
	maxDatagram = 64 << 10

	namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
)

// StepError says which step of making a sandbox failed.
type StepError struct {
	Step string
	// Detail is what the kernel or the guest said.
	Detail string
	Errno  syscall.Errno
}

func (e *StepError) Error() string { return fmt.Sprintf("sandbox step %q: %s", e.Step, e.Detail) }

// Unwrap gives the error number, if the kernel gave one.
func (e *StepError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// serverConfig is the first datagram to the fork server: what it seals children to.
type serverConfig struct {
	Level execution.Level `json:"level"`
	// Readable are the paths that a child without a root of its own may read.
	Readable     []string `json:"readable,omitempty"`
	CellFilter   string   `json:"cell_filter"`
	KeeperFilter string   `json:"keeper_filter"`
	NoFork       string   `json:"no_fork_filter"`
	NoExec       string   `json:"no_exec_filter"`
	Scratch      int64    `json:"scratch"`
	ScratchFiles int      `json:"scratch_files"`
	Memory       int64    `json:"memory"`
	Processes    int      `json:"processes"`
	OpenFiles    int      `json:"open_files"`
	CPUSeconds   int64    `json:"cpu_seconds"`
	// SealNoFork and SealNoExec stack those filters on every child.
	SealNoFork bool     `json:"seal_no_fork"`
	SealNoExec bool     `json:"seal_no_exec"`
	SitePath   []string `json:"site_path"`
	// Preload are modules that the fork server imports from SitePath.
	Preload []string `json:"preload"`
}

func newServerConfig(level execution.Level, in sandbox.Interpreter, t sandbox.Template) serverConfig {
	shape := t.Shape
	encode := func(p seccomp.Program) string { return base64.StdEncoding.EncodeToString(p.Bytes()) }
	cell := seccomp.Cell()
	switch level {
	case execution.LevelNoProc:
		cell = seccomp.CellWithoutQuotas()
	case execution.LevelNoUserns:
		cell = seccomp.Bare()
	default:
	}
	return serverConfig{
		Level:      level,
		CellFilter: encode(cell), KeeperFilter: encode(seccomp.Keeper()),
		NoFork: encode(seccomp.NoFork()), NoExec: encode(seccomp.NoExec()),
		Scratch: int64(shape.Scratch), ScratchFiles: shape.ScratchFiles,
		Memory: int64(max(shape.Memory, shape.AddressSpace)), OpenFiles: shape.OpenFiles, CPUSeconds: cpuSeconds(shape.Timeout),
		SealNoFork: shape.NoFork, SealNoExec: shape.NoExec,
		SitePath: append([]string{}, in.Path...), Preload: preloaded(t),
	}
}

// sealed are the limits that every child has before anything is known of a run.
func (c serverConfig) sealed() bridge.ArmLimits {
	return bridge.ArmLimits{
		AddressSpace: c.Memory, CPUSeconds: c.CPUSeconds, Processes: int64(c.Processes),
		OpenFiles: int64(c.OpenFiles), FileSize: c.Scratch,
	}
}

type launchConfig struct {
	init       initConfig
	server     serverConfig
	attributes *syscall.SysProcAttr
	logger     *slog.Logger
}

// server is a running fork server.
type server struct {
	control *net.UnixConn
	process *os.Process
	errors  *tail
	// exited is closed when the process is reaped, and all below it dead.
	exited  chan struct{}
	stopped atomic.Bool
	python  string
}

// launch starts a fork server and returns when it is ready to fork.
func launch(ctx context.Context, c launchConfig) (*server, error) {
	s, err := startInit(ctx, c)
	if err != nil {
		return nil, err
	}
	report, err := s.configure(ctx, c.server)
	if err != nil {
		s.stop()
		<-s.exited
		return nil, fmt.Errorf("start fork server: %w%s", preloadFailure(c.server.Preload, err), s.errors.suffix())
	}
	s.python = report.Python
	return s, nil
}

// startInit re-executes this binary as process 1 of fresh namespaces.
func startInit(ctx context.Context, c launchConfig) (*server, error) {
	config, err := configFile(c.init)
	if err != nil {
		return nil, fmt.Errorf("pass configuration: %w", err)
	}
	defer config.Close()
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, fmt.Errorf("make control socket: %w", err)
	}
	defer theirs.Close()

	s := &server{control: ours, errors: &tail{logger: c.logger}, exited: make(chan struct{})}
	// It outlives the call that starts it: Close ends it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe")
	cmd.Args = []string{initName}
	cmd.Env = []string{}
	cmd.ExtraFiles = []*os.File{config, theirs}
	cmd.Stderr = s.errors
	cmd.WaitDelay = reapTimeout
	cmd.SysProcAttr = c.attributes
	if err := s.start(cmd); err != nil {
		ours.Close()
		return nil, &StepError{Step: stepNamespaces, Detail: err.Error(), Errno: errnoOf(err)}
	}
	return s, nil
}

// stepNamespaces is the step before init runs: making the namespaces.
const stepNamespaces = "namespaces"

// start runs cmd from a goroutine that keeps its thread until the process has
// ended: the kernel sends the parent-death signal when the thread that forked ends
// (prctl(2), PR_SET_PDEATHSIG).
func (s *server) start(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		s.process = cmd.Process
		started <- err
		if err != nil {
			return
		}
		// How it ended does not matter: it never ends while the source is open.
		_ = cmd.Wait()
		close(s.exited)
	}()
	return <-started
}

// attributes put init into fresh namespaces as their user 0. Under root that is
// [SandboxUID] on the host; the host's root is mapped beside it only so that init
// can reach mount sources, and is out of reach before anything else runs.
func (i identity) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags:  namespaces,
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: i.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: i.gid, Size: 1}},
	}
	if i.root {
		a.UidMappings = append(a.UidMappings, syscall.SysProcIDMap{ContainerID: 1, HostID: 0, Size: 1})
		a.GidMappings = append(a.GidMappings, syscall.SysProcIDMap{ContainerID: 1, HostID: 0, Size: 1})
		// Root's supplementary groups must not come along.
		a.GidMappingsEnableSetgroups = true
		a.Credential = &syscall.Credential{Uid: 0, Gid: 0}
	}
	return a
}

// configure sends the configuration and waits for the first report.
func (s *server) configure(ctx context.Context, c serverConfig) (initReport, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return initReport{}, err
	}
	if err := s.control.SetDeadline(time.Now().Add(launchTimeout)); err != nil {
		return initReport{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.control.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// A failed write means that init ended: its report says why.
	_, writeErr := s.control.Write(data)
	report, err := s.readReport()
	if err != nil {
		return initReport{}, errors.Join(ctx.Err(), err, writeErr)
	}
	if report.Event != eventReady {
		return initReport{}, &StepError{Step: report.Step, Detail: report.Error, Errno: syscall.Errno(report.Errno)}
	}
	if !stop() {
		return initReport{}, ctx.Err()
	}
	return report, s.control.SetDeadline(time.Time{})
}

// errNoReport: the process ended, or took too long, before it said how its start went.
var errNoReport = errors.New("no report")

func (s *server) readReport() (initReport, error) {
	buf := make([]byte, maxDatagram)
	n, err := s.control.Read(buf)
	if err != nil {
		return initReport{}, fmt.Errorf("%w: %w", errNoReport, err)
	}
	var r initReport
	if err := json.Unmarshal(buf[:n], &r); err != nil {
		return initReport{}, fmt.Errorf("bad report: %w", err)
	}
	return r, nil
}

// stop kills the fork server and with it every child.
func (s *server) stop() {
	s.stopped.Store(true)
	_ = s.process.Kill()
	_ = s.control.Close()
}

// isStopped tells whether the fork server was killed or is known to be dead.
func (s *server) isStopped() bool { return s.stopped.Load() }

// configFile holds c in memory; it leaves no trace on a disk or in arguments.
func configFile(c initConfig) (*os.File, error) {
	fd, err := unix.MemfdCreate("config", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "config")
	if err := json.NewEncoder(f).Encode(c); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// controlPair makes the socket between host and fork server. Datagrams keep
// messages and the descriptors sent with them together.
func controlPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return 0
}

// tail logs what a fork server writes to its standard error and keeps the end of
// it for error messages.
type tail struct {
	logger *slog.Logger

	mu   sync.Mutex
	kept []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append([]byte{}, t.kept[over:]...)
	}
	t.logger.Warn("fork server wrote to its standard error", "text", string(p))
	return len(p), nil
}

// suffix is the kept end in the form of an addition to an error message.
func (t *tail) suffix() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) == 0 {
		return ""
	}
	return ": " + string(t.kept)
}
