//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

// SandboxUID is the host user and group that a sandbox is when the server runs as
// root. It needs no entry in the host's passwd; no file should belong to it.
const SandboxUID = 4242

// Config is what the backend needs from its composer.
type Config struct {
	// Interpreters finds an installation. The zero digest asks for the one that a
	// probe may use.
	Interpreters func(context.Context, execution.Digest) (sandbox.Interpreter, error)
	// Guest is the Python of the sandbox; nil for the embedded one.
	Guest fs.FS
	// Groups is where control groups can be made; without it memory and processes
	// are bounded by rlimits and by a watcher, which is less exact.
	Groups *cgroup.Place
	// Logger may be nil.
	Logger *slog.Logger
}

// Backend makes children with the kernel of this machine.
type Backend struct {
	config   Config
	identity identity
}

var _ sandbox.Backend = (*Backend)(nil)

// New returns a backend. It does nothing yet: [Backend.Probe] tells whether it can.
func New(c Config) *Backend {
	if c.Guest == nil {
		c.Guest = guest.Files
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Backend{config: c, identity: currentIdentity()}
}

// Name is "linux".
func (b *Backend) Name() string { return "linux" }

// identity is who a sandbox is on the host.
type identity struct {
	uid, gid int
	// root: this process may become another user, so that the sandbox does.
	root bool
}

// currentIdentity looks beyond the number 0: in a user namespace that holds one user
// it is an ordinary one.
func currentIdentity() identity {
	if os.Geteuid() == 0 && isMapped("/proc/self/uid_map", SandboxUID) && isMapped("/proc/self/gid_map", SandboxUID) {
		return identity{uid: SandboxUID, gid: SandboxUID, root: true}
	}
	return identity{uid: os.Geteuid(), gid: os.Getegid()}
}

// isMapped reports whether id exists in this user namespace (user_namespaces(7)).
func isMapped(file string, id uint64) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var inside, outside, length uint64
		if n, err := fmt.Sscan(line, &inside, &outside, &length); n != 3 || err != nil {
			return false
		}
		if id >= inside && id-inside < length {
			return true
		}
	}
	return false
}

// Open starts a fork server for the template.
func (b *Backend) Open(ctx context.Context, t sandbox.Template) (sandbox.Source, error) {
	switch {
	case t.Shape.Network:
		return nil, errors.New("linux: no door to a network exists")
	case t.Language != execution.Python && t.Language != execution.Bash && t.Language != "":
		return nil, fmt.Errorf("linux: no guest for %s", t.Language)
	}
	var err error
	if t.Shape, err = withShell(t.Shape, t.Language); err != nil {
		return nil, fmt.Errorf("linux: %w", err)
	}
	in, err := b.config.Interpreters(ctx, t.Interpreter)
	if err != nil {
		return nil, fmt.Errorf("find interpreter: %w", err)
	}
	return b.open(ctx, in, t)
}

// withDefaults fills what a shape leaves open, so that nothing is unlimited.
func withDefaults(s sandbox.Shape) sandbox.Shape {
	d := execution.DefaultLimits()
	if s.Memory <= 0 {
		s.Memory = d.Memory
	}
	if s.Timeout <= 0 {
		s.Timeout = d.MaxTimeout
	}
	if s.OpenFiles <= 0 {
		s.OpenFiles = d.OpenFiles
	}
	if s.Processes <= 0 {
		s.Processes = d.Processes
	}
	if s.Scratch <= 0 {
		s.Scratch = d.Scratch
	}
	if s.ScratchFiles <= 0 {
		s.ScratchFiles = d.ScratchFiles
	}
	return s
}

// interpreterCommand starts the fork server: isolated from variables and the user's
// directories, without site and its .pth files, which are code, without writing
// byte code, in UTF-8.
func interpreterCommand(executable, guestDir string) []string {
	return []string{executable, "-I", "-S", "-B", "-X", "utf8", guestDir + "/" + guest.Package + "/forkserver.py"}
}

// environment is that of the fork server and of every program. Numeric libraries
// are held to one thread: a process with threads cannot be forked safely, and the
// address space of a child has no room for one arena per thread.
func environment(shape sandbox.Shape) []string {
	env := []string{
		"HOME=" + workspace, "USER=sandbox", "LOGNAME=sandbox", "TMPDIR=/tmp", "LANG=C.UTF-8",
		"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "NUMEXPR_NUM_THREADS=1", "MALLOC_ARENA_MAX=2",
		"JE_ARROW_MALLOC_CONF=background_thread:false",
	}
	if shape.Programs != "" {
		env = append(env, "PATH=/usr/bin:/bin")
	}
	return env
}
