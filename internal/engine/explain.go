package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Permissions tells what a program would need, by the analysis that a run begins
// with, in a child that is killed afterwards. Nothing of the program runs, and no
// operation is made. Source that does not parse is a *[execution.RejectedError].
func (e *Engine) Permissions(ctx context.Context, r execution.Request) ([]policy.Permission, error) {
	frozen, err := e.c.Gears.Freeze(r.Gear)
	if err != nil {
		return nil, err
	}
	place, err := e.c.Places.Place(ctx, r.Principal, frozen, r.Language)
	if err != nil {
		return nil, err
	}
	if err := e.slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	child, release, err := place.Children.Child(ctx, place.Template, r.Principal)
	if err != nil {
		e.slots.Release(1)
		return nil, fmt.Errorf("start a sandbox: %w", err)
	}
	defer e.letGo(child, func() { release(); e.slots.Release(1) })
	unwatch := context.AfterFunc(ctx, func() { child.Kill(sandbox.CauseCancelled) })
	defer unwatch()

	op := newOperation(ctx, "", r, frozen, place)
	facts, err := e.analyse(op, child) //nolint:contextcheck // the operation's context is made of ctx
	switch {
	case errors.Is(err, errAnalysisTime):
		return []policy.Permission{{Kind: policy.Unsafe, Target: "unanalysable"}}, nil
	case err != nil:
		return nil, err
	case facts.Failure != nil:
		return nil, &execution.RejectedError{
			Code: execution.CodeInvalidArgument, Field: "code",
			Message: fmt.Sprintf("%s in line %d: %s", facts.Failure.Class, facts.Failure.Line, facts.Failure.Message),
		}
	}
	return e.permissions(op, facts)
}
