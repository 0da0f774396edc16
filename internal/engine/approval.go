package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// pendingOn is the answer for an operation about which a human is asked.
func pendingOn(r execution.Result, q *execution.Approval) execution.Result {
	r.Summary, r.ExpiresAt = q.Summary, q.Expires.Format(time.RFC3339)
	for _, one := range q.Asked {
		line := one.String()
		if one.Line > 0 {
			line = fmt.Sprintf("%s in line %d", line, one.Line)
		}
		r.Permissions = append(r.Permissions, line)
	}
	r.ApproveHint = "The user decides in a terminal: gearbox approvals show " + string(r.OperationID)
	return r
}

// pend keeps the question and lets go of the operation, which from now on belongs to no
// process.
func (e *Engine) pend(op *operation, res execution.Result) error {
	err := e.c.Journal.Commit(context.WithoutCancel(op.ctx), op.id, op.state, execution.StatePending, execution.Change{Question: op.question}, op.decided...)
	if err != nil {
		e.c.Logger.Error("a question could not be recorded and is not put", "operation_id", op.id, "error", err)
		return err
	}
	op.answer = res
	op.cancel(nil)
	close(op.done)
	e.forget(op)
	return nil
}

// Resume takes up operations that a human said yes to: those of this process and of dead
// ones, and tells how many. Of several processes one gets each.
func (e *Engine) Resume(ctx context.Context) (int, error) {
	all, err := e.c.Journal.Waiting(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for approved operations: %w", err)
	}
	n := 0
	var errs []error
	for _, r := range all {
		switch {
		case !e.c.Clock.Now().Before(r.Approval.Until()):
			errs = append(errs, e.expire(ctx, r))
		case r.State == execution.StateApproved && (r.Instance == e.c.Instance || !e.c.Elsewhere.Alive(r.Instance)):
			taken, err := e.resume(ctx, r)
			if taken {
				n++
			}
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

// ResumeOne takes up one operation that this process put the question about, if a human
// said yes to it, and ends it if its time is over. It is false while there was no place
// for it.
func (e *Engine) ResumeOne(ctx context.Context, p execution.Principal, id execution.ID) (bool, error) {
	r, err := e.c.Journal.Load(ctx, p, id)
	switch {
	case err != nil:
		return false, notFound(id, err)
	case !r.State.Waits():
		return true, nil
	case !e.c.Clock.Now().Before(r.Approval.Until()):
		return true, e.expire(ctx, r)
	case r.State != execution.StateApproved:
		return false, nil
	}
	return e.resume(ctx, r)
}

// resume takes one up. It is false without an error when another process was first, and
// when there is no place for it now.
func (e *Engine) resume(ctx context.Context, r execution.Record) (bool, error) {
	r, err := e.c.Journal.Load(ctx, r.Request.Principal, r.ID) // with its files
	if err != nil || r.State != execution.StateApproved {
		return false, err
	}
	op, err := e.revive(ctx, r)
	if err != nil {
		var rejected *execution.RejectedError
		if errors.As(err, &rejected) && rejected.Code == execution.CodeUnavailable {
			return false, nil // it stays approved until it expires
		}
		return false, e.close(ctx, r, execution.StatusDenied, execution.CodePolicyViolation,
			"It was approved, and cannot be run any more: "+err.Error()+".", audit.Event{})
	}
	if err := e.admit(op); err != nil {
		return false, nil //nolint:nilerr // there is no room now, and the next look is soon
	}
	err = e.c.Journal.Commit(ctx, op.id, execution.StateApproved, execution.StateResumed, execution.Change{Instance: e.c.Instance})
	if err != nil {
		e.forget(op)
		e.work.Done()
		if errors.Is(err, ErrConflict) {
			return false, nil
		}
		return false, err
	}
	go e.life(op) //nolint:contextcheck // the operation has a context of its own
	return true, nil
}

// revive is the operation as it was when the question was put, in the gear that is in
// force now: what a changed gear would do differently has another hash, and is asked anew.
func (e *Engine) revive(ctx context.Context, r execution.Record) (*operation, error) {
	frozen, err := e.c.Gears.Freeze(r.Request.Principal, r.Request.Gear)
	if err != nil {
		return nil, err
	}
	granted := frozen.Approved(permissionsOf(r.Approval))
	place, err := e.c.Places.Place(ctx, r.Request.Principal, granted, r.Request.Language)
	if err != nil {
		return nil, err
	}
	op := newOperation(e.root, r.Created, r.Request, frozen, place) //nolint:contextcheck // the work outlives the call
	op.id, op.granted, op.approval, op.state = r.ID, granted, r.Approval, execution.StateResumed
	op.beginning.Do(func() { close(op.begun) })
	return op, nil
}

func permissionsOf(q *execution.Approval) []policy.Permission {
	var out []policy.Permission
	for _, one := range q.Asked {
		out = append(out, policy.Permission{Kind: policy.Kind(one.Kind), Target: one.Target})
	}
	return out
}

// expire ends an operation that nobody decided on, or nobody took up, in time.
func (e *Engine) expire(ctx context.Context, r execution.Record) error {
	reason := "Nobody decided within the time for it. Nothing was run; the call may be repeated."
	if r.State == execution.StateApproved {
		reason = "It was approved, and no server took it up before the approval expired. Nothing was run; the call may be repeated."
	}
	ev := recordEvent(r, e.c.Clock.Now(), audit.Approval)
	ev.Decision, ev.Reason = string(execution.Expired), reason
	return e.close(ctx, r, execution.StatusDenied, execution.CodePolicyViolation, reason, ev)
}

// withdraw ends an operation that waits, by the caller's wish.
func (e *Engine) withdraw(ctx context.Context, r execution.Record) error {
	ev := recordEvent(r, e.c.Clock.Now(), audit.Approval)
	ev.Decision, ev.Reason = "withdrawn", "the caller cancelled it"
	return e.close(ctx, r, execution.StatusCancelled, execution.CodeCancelled, "Execution was cancelled.", ev)
}

// close finishes an operation that no process has. Another one may be first.
func (e *Engine) close(ctx context.Context, r execution.Record, s execution.Status, c execution.Code, reason string, ev audit.Event) error {
	change, finished := Closed(r, s, c, reason, e.c.Clock.Now())
	events := []audit.Event{finished}
	if ev.Type != "" {
		events = []audit.Event{ev, finished}
	}
	err := e.c.Journal.Commit(ctx, r.ID, r.State, execution.StateFinished, change, events...)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// Closed is how an operation ends of which nothing was run: what is written into its
// record, and the event for it.
func Closed(r execution.Record, s execution.Status, c execution.Code, reason string, now time.Time) (execution.Change, audit.Event) {
	res := execution.Result{OperationID: r.ID, Gear: r.Gear}
	res = end(res, verdict{s, c, reason}, -1)
	ev := recordEvent(r, now, audit.Finished)
	ev.Reason, ev.Status, ev.ExitCode = string(c), res.Status, res.ExitCode
	return execution.Change{Finished: now, Result: &res}, ev
}

// recordEvent is an event about an operation that is known from its record.
func recordEvent(r execution.Record, now time.Time, t audit.Type) audit.Event {
	return audit.Event{
		Time: now, Type: t, Operation: r.ID, Principal: r.Request.Principal, Client: r.Request.Client, Gear: r.Gear, Code: codeOf(r.Request),
	}
}
