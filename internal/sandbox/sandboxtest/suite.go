// Package sandboxtest is the suite that every [sandbox.Backend] passes, and the
// few functions that drive a child through one program.
//
// The suite knows only the contract. What a backend can do beyond it is said in
// [Config]; nothing here asks which backend it is.
package sandboxtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Config is the backend under test and what it can do.
type Config struct {
	Backend  sandbox.Backend
	Template sandbox.Template
	// NarrowsProcesses says that NoFork and NoExec can be put in force; if not,
	// they must be refused.
	NarrowsProcesses bool
}

// patience bounds one test. It is no claim about speed: it turns a hang into a
// failure.
const patience = 2 * time.Minute

// Run runs the suite.
func Run(t *testing.T, c Config) {
	for _, part := range []struct {
		name  string
		tests []test
	}{
		{"Program", programTests},
		{"Streams", streamTests},
		{"Ending", endingTests},
		{"Bridge", bridgeTests},
		{"Source", sourceTests},
		{"Bash", bashTests},
	} {
		t.Run(part.name, func(t *testing.T) {
			c := c
			if part.name == "Bash" {
				c.Template.Language = execution.Bash
			}
			s := open(t, c)
			for _, x := range part.tests {
				t.Run(x.name, func(t *testing.T) { x.run(t, s) })
			}
		})
	}
}

type test struct {
	name string
	run  func(*testing.T, *suite)
}

// suite is an open source.
type suite struct {
	Config
	source sandbox.Source
}

func open(t *testing.T, c Config) *suite {
	t.Helper()
	source, err := c.Backend.Open(t.Context(), c.Template)
	if errors.Is(err, sandbox.ErrNoShell) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &suite{Config: c, source: source}
}

func (s *suite) start(t *testing.T) sandbox.Child {
	t.Helper()
	child, err := s.source.Start(bounded(t), false)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { child.Kill(sandbox.CauseAbandoned) })
	return child
}

// drive runs p in a fresh child.
func (s *suite) drive(t *testing.T, p Program) Outcome {
	t.Helper()
	out, err := Drive(bounded(t), s.start(t), p)
	if err != nil {
		t.Fatalf("drive: %v", err)
	}
	return out
}

// finish is drive for a program that must reach its end.
func (s *suite) finish(t *testing.T, p Program) Outcome {
	t.Helper()
	out := s.drive(t, p)
	if out.Result == nil {
		t.Fatalf("no result: %v; ended %+v; stderr:\n%s", out.ResultErr, out.Ended, out.Stderr)
	}
	return out
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
