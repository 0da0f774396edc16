package engine

import (
	"context"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Permissions tells what a program would need, by the analysis that a run begins
// with, in a child that is killed afterwards. Nothing of the program runs, and no
// operation is made. Source that does not parse is a *[execution.RejectedError].
func (e *Engine) Permissions(ctx context.Context, r execution.Request) ([]policy.Permission, error) {
	frozen, err := e.c.Gears.Freeze(r.Principal, r.Gear)
	if err != nil {
		return nil, err
	}
	place, err := e.c.Places.Place(ctx, r.Principal, frozen, r.Language)
	if err != nil {
		return nil, err
	}
	op := newOperation(ctx, e.c.Clock.Now(), r, frozen, place)
	facts, err := e.analyse(op, nothing)   //nolint:contextcheck // the operation has a context made of ctx
	defer func() { e.leave(op.seat, 0) }() //nolint:contextcheck // its end is waited for after the call
	switch {
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
