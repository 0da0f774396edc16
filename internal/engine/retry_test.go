//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// losing are children of which the first few end with their source when they are armed.
type losing struct {
	engine.Children
	left atomic.Int64
}

func (l *losing) Child(ctx context.Context, t sandbox.Template, p execution.Principal) (sandbox.Child, func(), error) {
	c, release, err := l.Children.Child(ctx, t, p)
	if err == nil && l.left.Add(-1) >= 0 {
		c = lost{c}
	}
	return c, release, err
}

type lost struct{ sandbox.Child }

func (c lost) Arm(ctx context.Context, _ sandbox.Arm) error {
	c.Kill(sandbox.CauseNone)
	if _, err := c.Wait(ctx); err != nil {
		return err
	}
	return fmt.Errorf("test: %w", sandbox.ErrSourceDead)
}

func TestAProgramThatHasNotStartedIsGivenAnotherSandbox(t *testing.T) {
	b := newBench(t, benchConfig{})
	children := &losing{Children: b.children.Children}
	b.children.Children = children
	children.left.Store(1)
	r := b.run(execution.Request{Code: "import sys\nprint(sys.stdin.read())", Stdin: []byte("given"), Files: []execution.File{{Path: "f"}}})
	if r.Status != execution.StatusOK || r.Stdout != "given\n" {
		t.Errorf("%+v", r)
	}
	if n := b.children.started.Load(); n != 2 {
		t.Errorf("%d children", n)
	}
	// It is one run, decided about once.
	want := []audit.Type{audit.Requested, audit.Decided, audit.Started, audit.Finished}
	if got := b.events.types(); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
}

func TestAProgramIsNotTriedForEver(t *testing.T) {
	b := newBench(t, benchConfig{})
	children := &losing{Children: b.children.Children}
	b.children.Children = children
	children.left.Store(100)
	r := b.run(execution.Request{Code: "import json\nprint(1)"})
	if r.Status != execution.StatusInterrupted || r.Stdout != "" {
		t.Errorf("%+v", r)
	}
	if n := b.children.started.Load(); n != 2 {
		t.Errorf("%d children", n)
	}
	// What was decided is recorded all the same.
	want := []audit.Type{audit.Requested, audit.Decided, audit.Finished}
	if got := b.events.types(); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
}
