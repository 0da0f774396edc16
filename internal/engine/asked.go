package engine

import (
	"context"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// WaitUnlessAsked is [Engine.Wait] for a caller that does not wait for humans: it tells
// at once when one is asked, before or meanwhile, and whichever process asks. A program that
// waits for a human about one of its calls runs all the same; of those of another process,
// which are known by their records alone, it is not told.
func (e *Engine) WaitUnlessAsked(ctx context.Context, p execution.Principal, id execution.ID, d time.Duration) (execution.Result, error) {
	if op := e.find(p, id); op != nil {
		if !e.await(ctx, op, d, op.open.any()) {
			return op.running(), nil
		}
		if op.answer.Status != "" { // else another process has it
			return op.answer, nil
		}
	}
	rec, err := e.follow(ctx, p, id, d, func(s execution.State) bool {
		return s == execution.StateFinished || s == execution.StatePending
	})
	if err != nil {
		return execution.Result{}, notFound(id, err)
	}
	return e.told(rec), nil
}
