package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Outdate withdraws the questions of this process that were put under other rules than
// those that would decide now, so that no answer to them counts any more. [Engine.Resume]
// then decides anew: what the rules allow runs, what they deny is denied, and what they
// still ask about is asked with a new hash, until the same time. asked are the questions
// that stand, with principal and the gear that the call named. The errors of several are
// joined; a question that could not be withdrawn is found to be another one after a yes.
func (e *Engine) Outdate(ctx context.Context, asked []execution.Record, now Gears) error {
	var errs []error
	for _, r := range asked {
		if r.State != execution.StatePending || r.Instance != e.c.Instance || !outdated(r.Approval, r.Request, now) {
			continue
		}
		if err := e.outdate(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("withdraw the question about %s: %w", r.ID, err))
		}
	}
	return errors.Join(errs...)
}

// outdated reports whether a question was put under other rules than those.
func outdated(q *execution.Approval, r execution.Request, now Gears) bool {
	frozen, err := now.Freeze(r.Principal, r.Gear)
	var rejected *execution.RejectedError
	if errors.As(err, &rejected) {
		return rejected.Code != execution.CodeUnavailable
	}
	return err == nil && frozen.Digest() != q.Rules
}

// outdate leaves an operation to be decided anew. Whoever answered or ended it meanwhile
// was first.
func (e *Engine) outdate(ctx context.Context, r execution.Record) error {
	ev := recordEvent(r, e.c.Clock.Now(), audit.Approval)
	ev.Decision, ev.Reason = "withdrawn", execution.AgainRules
	ev.Details = map[string]string{"hash": r.Approval.Hash.String()}
	err := e.c.Journal.Commit(ctx, r.ID, execution.StatePending, execution.StateStale, execution.Change{}, ev)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// notice withdraws a question that has just been put if the rules changed meanwhile:
// whoever changed them may have looked before it was there.
func (e *Engine) notice(op *operation) {
	if !outdated(op.question, op.request, e.c.Gears) {
		return
	}
	r := execution.Record{ID: op.id, Request: op.request, Gear: op.gear.Name(), Approval: op.question}
	if err := e.outdate(context.WithoutCancel(op.ctx), r); err != nil {
		e.c.Logger.Error("a question that the rules have overtaken could not be withdrawn", "operation_id", op.id, "error", err)
	}
}

// answered is what is written when changed rules decide what a human was asked and did not
// answer.
func (op *operation) answered(v execution.Verdict, now time.Time) (execution.Change, []audit.Event) {
	q := op.approval
	if q == nil || q.Answer != nil {
		return execution.Change{}, nil
	}
	ev := op.event(now, audit.Approval)
	ev.Decision, ev.Reason = string(v), q.Summary
	ev.Details = map[string]string{"hash": q.Hash.String(), "by": execution.ByRules}
	return execution.Change{Answer: &execution.Answer{Verdict: v, By: execution.ByRules, At: now.UTC()}, Of: q.Hash}, []audit.Event{ev}
}

// handBack leaves an operation for the next process that was taken up by this one, and not
// started before this one began to shut down. It is false when there is no such need, or it
// could not be recorded.
func (e *Engine) handBack(op *operation) bool {
	if op.approval == nil || op.state != execution.StateResumed || context.Cause(op.ctx) != errShutdown { //nolint:errorlint // as in givenUp
		return false
	}
	to := execution.StateApproved
	if op.approval.Answer == nil {
		to = execution.StateStale
	}
	if err := e.c.Journal.Commit(context.WithoutCancel(op.ctx), op.id, op.state, to, execution.Change{}); err != nil {
		e.c.Logger.Error("an operation could not be left for the next server", "operation_id", op.id, "error", err)
		return false
	}
	e.leave(op.seat, 0)
	op.lost = true
	e.forget(op)
	op.cancel(nil)
	close(op.done)
	return true
}
