//go:build unix

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/subprocess"
)

// Name is the backend's name in answers and reports.
const Name = "host"

// Config says what a [Backend] runs.
type Config struct {
	// Interpreters finds the installation that runs the programs. The zero digest
	// asks for the one that a probe may use. It is required.
	Interpreters func(context.Context, execution.Digest) (sandbox.Interpreter, error)
	// Dir is where private directories are made; empty means [os.TempDir].
	Dir string
	// Pipes carries the bridge over two plain pipes instead of a socket pair.
	Pipes bool
}

// Backend makes children without isolation.
type Backend struct {
	c Config
	// keeperTime is what a keeper has to end its tree before it is killed itself.
	keeperTime time.Duration
}

var _ sandbox.Backend = (*Backend)(nil)

// New returns a backend. It does nothing yet: [Backend.Probe] tells whether it can.
func New(c Config) *Backend { return &Backend{c: c, keeperTime: keeperTime} }

// Name returns [Name].
func (*Backend) Name() string { return Name }

// probeTime bounds a probe: an interpreter that hangs must not hold up a start.
const probeTime = 30 * time.Second

// Probe runs the interpreter and then starts one child.
func (b *Backend) Probe(ctx context.Context) sandbox.Report {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	report := sandbox.Report{Backend: Name}
	steps := []struct {
		name, hint string
		do         func(context.Context) (string, error)
	}{
		{"interpreter", "name a Python of version 3.10 or later with --python", b.probeInterpreter},
		{"child", "see the detail: the interpreter could not run the guest", b.probeChild},
	}
	for _, s := range steps {
		detail, err := s.do(ctx)
		if err != nil {
			report.Checks = append(report.Checks, sandbox.Check{Name: s.name, Detail: err.Error(), Hint: s.hint})
			return report
		}
		report.Checks = append(report.Checks, sandbox.Check{Name: s.name, OK: true, Detail: detail})
	}
	report.Level = execution.LevelNone
	return report
}

func (b *Backend) probeInterpreter(ctx context.Context) (string, error) {
	const ask = `import sys; print(sys.version.split()[0]); sys.exit(sys.version_info < (3, 10))`
	python, err := b.c.Interpreters(ctx, execution.Digest{})
	if err != nil {
		return "", fmt.Errorf("find interpreter: %w", err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, python.Executable, "-I", "-c", ask)
	cmd.Stdout = &out
	err = subprocess.Run(cmd)
	version := strings.TrimSpace(out.String())
	if err != nil {
		return "", fmt.Errorf("run %s: %s: %w", python.Executable, version, err)
	}
	return "Python " + version, nil
}

func (b *Backend) probeChild(ctx context.Context) (string, error) {
	s, err := b.Open(ctx, sandbox.Template{Language: execution.Python})
	if err != nil {
		return "", err
	}
	_, err = s.Start(ctx, false)
	return "", errors.Join(err, s.Close())
}

// Open unpacks the guest into a private directory. The template's shape and
// preload mean nothing without isolation.
func (b *Backend) Open(ctx context.Context, t sandbox.Template) (sandbox.Source, error) {
	switch t.Language {
	case execution.Python:
	case execution.Bash:
		if !HasShell() {
			return nil, fmt.Errorf("host: %w", sandbox.ErrNoShell)
		}
	default:
		return nil, fmt.Errorf("host: language %q is not available", t.Language)
	}
	python, err := b.c.Interpreters(ctx, t.Interpreter)
	if err != nil {
		return nil, fmt.Errorf("find interpreter: %w", err)
	}
	dir, err := unpack(b.c.Dir)
	if err != nil {
		return nil, err
	}
	return &source{
		c: b.c, keeperTime: b.keeperTime, python: python, dir: dir,
		children: map[*child]struct{}{}, done: make(chan struct{}),
	}, nil
}

// HasShell reports whether this host has a bash where the guest looks for it.
func HasShell() bool {
	return slices.ContainsFunc([]string{"/usr/bin/bash", "/bin/bash"}, func(p string) bool {
		st, err := os.Stat(p)
		return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
	})
}

// unpack makes a source's directory and puts the guest into it. The program's own
// frames are told apart by their path, so links in it are resolved.
func unpack(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "gearbox-host-")
	if err != nil {
		return "", fmt.Errorf("make a private directory: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = os.CopyFS(filepath.Join(resolved, guestDir), guest.Files)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("unpack the guest: %w", err), os.RemoveAll(dir))
	}
	return resolved, nil
}
