// Package sandbox is the contract between what runs code and what decides to.
// A backend makes children: isolated environments in which a trusted guest waits
// for one program. No word of forks, descriptors or process ids stands in the
// contract, so that a kernel sandbox, a WebAssembly instance and a container can
// all honour it.
//
// The backends are the folders below. Each passes the suite in sandboxtest. This
// package holds the contract and the types that cross it, and nothing that runs.
package sandbox

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Backend is one way to isolate a program.
type Backend interface {
	Name() string
	// Probe finds out what this machine can do by doing it. It is slow enough
	// to be called once per start.
	Probe(context.Context) Report
	// Open prepares a source of children for the template.
	Open(context.Context, Template) (Source, error)
}

// Source makes children of one template. It is safe for concurrent use.
type Source interface {
	// Level is how strong the wall around its children is: what was built, not
	// what was wished for.
	Level() execution.Level
	// Start makes one child. It returns when the child is parked and has been
	// checked from outside. With warm set the child touches the pages that a
	// typical program touches first; that costs time now and saves it later.
	// An error from a source that is dead wraps [ErrSourceDead].
	Start(ctx context.Context, warm bool) (Child, error)
	// Done is closed when the source can make no more children. Its children
	// are dead by then.
	Done() <-chan struct{}
	// Close kills every child and releases the source. It may be repeated.
	Close() error
}

// Child is a parked guest: sealed, checked from outside by the host, and free of
// user code until a run frame is sent. A child runs one program and is then
// killed; it is never used again.
type Child interface {
	Bridge() bridge.Conn
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Arm narrows the child to this run's limits, brings files and environment
	// in, and returns once the host has seen the limits in force. It speaks on
	// the bridge, so nobody else may meanwhile. It is called at most once,
	// before the run frame.
	Arm(context.Context, Arm) error
	// Kill ends the whole process tree. It never blocks and may be repeated;
	// the first cause stands. Streams and bridge end once the tree is dead.
	Kill(Cause)
	// Stop ends a child whose result was read, with [CauseFinished], and gives
	// the account of it as it stands at that moment. When it returns nothing of
	// the program runs any longer, and stdout and stderr end after what was
	// written before the result; but what it held is held until Kill, which is
	// due as ever and better not in the way of an answer. A cause that came
	// before stands.
	Stop(context.Context) (Ended, error)
	// Wait blocks until nothing of the child is left, then tells what the
	// kernel saw. It may be called again and answers the same.
	Wait(context.Context) (Ended, error)
}

// ErrSourceDead is wrapped by errors of a source that has ended.
var ErrSourceDead = errors.New("sandbox: source has ended")

// ErrChildGone is wrapped by errors of a child that ended meanwhile: why, its Wait tells.
var ErrChildGone = errors.New("child has ended")

// ErrNoShell is wrapped by the error of opening a template for bash on a host that
// has none.
var ErrNoShell = errors.New("sandbox: this host has no bash")

// PreloadError is the error of opening a template with a module that cannot be
// preloaded. It is the operator's to mend.
type PreloadError struct {
	// Reason names the module and says what its import ended with.
	Reason string
}

func (e *PreloadError) Error() string { return "sandbox: cannot preload " + e.Reason }

// Arm is what one run adds to its template. Every part of it narrows.
type Arm struct {
	Limits      execution.Limits
	Environment map[string]string
	Files       []execution.File
	// NoFork refuses new processes; NoExec refuses new programs.
	NoFork, NoExec bool
	// Timeout is the longest that a run may last: the net below the wall clock
	// is cut to it.
	Timeout   time.Duration
	OpenFiles int
}

// Cause is why a child was killed.
type Cause string

// The causes. CauseNone means that nobody killed it: it ended by itself.
const (
	CauseNone      Cause = ""
	CauseFinished  Cause = "finished" // its result was read
	CauseTimeout   Cause = "timeout"
	CauseMemory    Cause = "memory"
	CauseOutput    Cause = "output"
	CauseScratch   Cause = "scratch" // it holds more on the disk than it may
	CauseCancelled Cause = "cancelled"
	CauseShutdown  Cause = "shutdown"
	CauseUnsealed  Cause = "unsealed" // it was not as tight as it has to be
	CauseProtocol  Cause = "protocol" // it broke the rules of the bridge
	CauseAbandoned Cause = "abandoned"
)

// Ended is the host's and the kernel's word on a dead child.
type Ended struct {
	Cause Cause
	// ExitCode and Signal are those of the program's own first process: one of
	// them says how it ended if it ended by itself.
	ExitCode int
	Signal   int
	Usage    execution.Usage
	// ScratchFull and ProcessesFull tell that the limit was met at least once,
	// as far as the backend can know.
	ScratchFull   bool
	ProcessesFull bool
}

// Template is what a child is prepared with before anyone knows the program. It
// is comparable: it is the key of the pool.
type Template struct {
	// Interpreter names an installation that the backend was given.
	Interpreter execution.Digest
	Environment execution.Digest
	// Preload are modules of the operator's environment that children find
	// imported, names separated by commas. They run in the fork server, before
	// anything is sealed.
	Preload string
	// Class keeps principals apart that must not share a fork server.
	Class    execution.Class
	Language execution.Language
	Shape    Shape
}

// Shape is the ceiling of a gear: what a child may at most need. A run is only
// ever narrowed from it.
type Shape struct {
	Network bool // a door for network connections
	// Programs are the host programs that are present, names separated by
	// commas; "*" is the whole of /usr, the empty string none.
	Programs string
	// Reads are the host files and directories that are present, read-only, one a
	// line; DIR/** is a whole directory.
	Reads string
	// NoFork and NoExec are refused to every child of the template from the
	// start; a run whose gear allows them has another template.
	NoFork, NoExec bool
	// Timeout is the longest that a run may last: the net below the wall clock,
	// a limit on processor time, is cut to it.
	Timeout   time.Duration
	OpenFiles int
	Memory    execution.Bytes
	// AddressSpace is what one process may reserve, if that is more than Memory, which
	// alone then bounds what is held; 0 is Memory.
	AddressSpace execution.Bytes
	Processes    int
	Scratch      execution.Bytes
	ScratchFiles int
}

// Interpreter is a Python installation as a backend needs it.
type Interpreter struct {
	Digest  execution.Digest
	Version string
	// Embedded installations can be moved: a backend mounts Root at a place of
	// its own. Others are mounted at their own paths.
	Embedded bool
	// Executable is the interpreter on the host.
	Executable string
	// Root is the directory that holds an embedded installation.
	Root string
	// Mounts are further host directories that it needs at their own paths.
	Mounts []string
	// Path is what a child adds to sys.path: the site-packages of an operator's
	// environment. The fork server looks there for what it preloads and for nothing
	// else.
	Path []string
	// GuestCode is byte code of the guest, by its names in __pycache__. Without it the
	// guest is compiled each time that a source is opened.
	GuestCode map[string][]byte
}

// Report is what a backend can do on this machine.
type Report struct {
	Backend string
	Level   execution.Level
	// Checks are the steps of building a tiny sandbox, in order, up to the
	// first that fails. A weaker level that was built instead is a check after it.
	Checks []Check
}

// Available reports whether children can be made at all.
func (r Report) Available() bool { return r.Level != "" }

// Check is one step of a probe.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	// Warning tells that all works, and that something is left open which the hint closes.
	Warning bool `json:"warning,omitempty"`
	// Hint is the one change that mends a failed check.
	Hint string `json:"hint"`
}
