package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// pendingOn is the answer for an operation about which a human is asked.
func pendingOn(r execution.Result, q *execution.Approval) execution.Result {
	r.Summary, r.ExpiresAt = q.Summary, q.Expires.Format(time.RFC3339)
	r.Permissions, r.Question = askedFor(q), q.Hash
	r.ApproveHint = "The user decides in a terminal: gearbox approvals show " + string(r.OperationID)
	return r
}

// askedFor are the permissions of a question, with their lines.
func askedFor(q *execution.Approval) []string {
	var out []string
	for _, one := range q.Asked {
		line := one.String()
		if one.Line > 0 {
			line = fmt.Sprintf("%s in line %d", line, one.Line)
		}
		out = append(out, line)
	}
	return out
}

// pend keeps the question and lets go of the operation, which from now on belongs to no
// process.
func (e *Engine) pend(op *operation, res execution.Result) error {
	change := execution.Change{Question: op.question}
	if op.approval == nil { // else a human knows of it already
		change.MaxPending = e.c.MaxPending()
	}
	e.callers.asks(op.id, op.question) // before the answer can be taken up
	err := e.c.Journal.Commit(context.WithoutCancel(op.ctx), op.id, op.state, execution.StatePending, change, op.decided...)
	if err != nil {
		e.callers.askedNoMore(op.id)
	}
	if errors.Is(err, ErrManyPending) {
		return err
	}
	if err != nil {
		e.c.Logger.Error("a question could not be recorded and is not put", "operation_id", op.id, "error", err)
		return err
	}
	op.answer = res
	op.cancel(nil)
	e.forget(op)
	close(op.done)
	e.notice(op)
	return nil
}

// mostTaking is how long one look at what was approved goes on taking it up.
const mostTaking = time.Second

// Resume takes up operations that a human said yes to, and those about which the rules
// changed: those of this process and of dead ones, and tells how many. Of several
// processes one gets each. What waits for longer than it may is ended. The errors of
// several operations are joined; each is tried again by the next call. The sandboxes that
// one principal's need are prepared while others' operations are taken up.
func (e *Engine) Resume(ctx context.Context) (int, error) {
	due, err := e.c.Journal.Due(ctx, e.c.Clock.Now())
	if err != nil {
		return 0, fmt.Errorf("look for approved operations: %w", err)
	}
	living := map[string]bool{e.c.Instance: false} // of the others
	lines := map[execution.Principal][]Due{}
	for _, d := range due {
		if _, asked := living[d.Instance]; !asked {
			living[d.Instance] = e.c.Elsewhere.Alive(d.Instance)
		}
		lines[d.Principal] = append(lines[d.Principal], d)
	}
	var all sync.WaitGroup
	var n atomic.Int64
	failed := make(chan error, len(due))
	until := e.c.Clock.Now().Add(mostTaking)
	for _, line := range lines {
		all.Go(func() {
			for _, d := range line {
				taken, err := e.settle(ctx, d, living[d.Instance])
				if taken {
					n.Add(1)
				}
				if err != nil {
					failed <- fmt.Errorf("take up %s: %w", d.ID, err)
				}
				if !e.c.Clock.Now().Before(until) {
					return // the next call goes on, and sees what others were told meanwhile
				}
			}
		})
	}
	all.Wait()
	close(failed)
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	return int(n.Load()), errors.Join(errs...)
}

// settle does what is to be done about one operation, and reports whether it was taken up.
func (e *Engine) settle(ctx context.Context, d Due, elsewhere bool) (bool, error) {
	over := !e.c.Clock.Now().Before(d.Until)
	if !over && (elsewhere || !e.room(d.Principal)) {
		return false, nil
	}
	r, err := e.c.Journal.Load(ctx, d.Principal, d.ID)
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && !r.State.Waits():
		return false, nil // it has ended meanwhile
	case err != nil:
		return false, err
	case over:
		return false, e.expire(ctx, r)
	case r.State == execution.StatePending:
		return false, nil
	}
	return e.resume(ctx, r)
}

// ResumeOne takes up one operation that this process put the question about, if a human
// said yes to it, and ends it if its time is over. It is false as long as it waits, for a
// human or for a place.
func (e *Engine) ResumeOne(ctx context.Context, p execution.Principal, id execution.ID) (bool, error) {
	r, err := e.c.Journal.Load(ctx, p, id)
	if err != nil || !r.State.Waits() {
		return err == nil, err
	}
	return e.settle(ctx, Due{ID: id, Principal: p, Instance: r.Instance, Until: r.Approval.Until()}, false)
}

// resume takes one up. It is false without an error when another process was first, and
// when there is no place for it now or its principal has too many under way.
func (e *Engine) resume(ctx context.Context, r execution.Record) (taken bool, err error) {
	left, err := e.enter(r.Request)
	if rejected, ok := errors.AsType[*execution.RejectedError](err); ok && rejected.Code == execution.CodeUnavailable {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() {
		if !taken {
			left()
		}
	}()
	op, err := e.revive(ctx, r)
	if err != nil {
		var rejected *execution.RejectedError
		switch {
		case !errors.As(err, &rejected):
			return false, err // a failure of ours, or the end of this process: it stays approved
		case rejected.Code == execution.CodeUnavailable:
			return false, nil // it stays approved until it expires
		}
		was := "It was approved"
		if r.State == execution.StateStale {
			was = "The rules changed while a human was asked"
		}
		return false, e.close(ctx, r, execution.StatusDenied, execution.CodePolicyViolation,
			was+", and it cannot be run any more: "+rejected.Error()+".", audit.Event{})
	}
	if err := e.admit(op); err != nil {
		op.cancel(nil)
		return false, nil //nolint:nilerr // there is no room now, and the next look is soon
	}
	if err := e.own(ctx, op, r.State); err != nil {
		e.lose(op)
		if errors.Is(err, ErrConflict) {
			return false, nil
		}
		return false, err
	}
	e.callers.askedNoMore(op.id)
	op.left = left
	go e.life(op) //nolint:contextcheck // the operation has a context of its own
	return true, nil
}

// enter counts what is taken up among what its principal has under way. A call that a
// program waits for is part of a run that counts already.
func (e *Engine) enter(r execution.Request) (left func(), err error) {
	if c, ok := execution.CallOf(r); ok && c.Run != "" {
		return func() {}, nil
	}
	return e.c.Enter(r.Principal)
}

// own makes an operation that waits this process's. One that was cancelled since it became
// known here, as by a shutdown, is left for the next process that looks.
func (e *Engine) own(ctx context.Context, op *operation, from execution.State) error {
	if op.ctx.Err() != nil {
		return ErrConflict
	}
	return e.c.Journal.Commit(context.WithoutCancel(ctx), op.id, from, execution.StateResumed, execution.Change{Instance: e.c.Instance})
}

// lose lets go of an operation that this process did not get. Whoever waits for it here
// looks into the records again.
func (e *Engine) lose(op *operation) {
	op.lost = true
	e.forget(op)
	op.cancel(nil)
	close(op.done)
	e.work.Done()
}

// revive is the operation as it was when the question was put, in the gear that is in
// force now: what a changed gear would do differently has another hash, and is asked anew.
// A process in quite another gear leaves what a dead one has asked to others.
// What the gear refuses without a look at the code needs no place.
func (e *Engine) revive(ctx context.Context, r execution.Record) (*operation, error) {
	frozen, err := e.frozen(r.Request)
	if err != nil {
		return nil, err
	}
	if ServersGear(frozen.Name()) != ServersGear(r.Gear) && r.Instance != e.c.Instance {
		return nil, &execution.RejectedError{Code: execution.CodeUnavailable, Message: "it was asked about in the gear " + r.Gear}
	}
	granted := frozen
	if r.Approval.Answer != nil {
		granted = frozen.Approved(permissionsOf(r.Approval))
	}
	place, err := e.place(ctx, r.Request, granted)
	if err != nil {
		return nil, err
	}
	op := newOperation(e.root, r.Created, r.Request, frozen, place) //nolint:contextcheck // the work outlives the call
	op.id, op.granted, op.approval, op.state = r.ID, granted, r.Approval, execution.StateResumed
	op.beginning.Do(func() { close(op.begun) })
	return op, nil
}

// ServersGear is the first of the gears that a name is made of, see [gear.Frozen.Name]: the
// others are those of the call and of the principal, who may have got another ceiling.
func ServersGear(name string) string {
	first, _, _ := strings.Cut(name, "+")
	return first
}

// waitsFor says what an operation waits for that no process has, though nobody is asked.
func (e *Engine) waitsFor(r execution.Record) string {
	what := "The user said yes."
	if r.State == execution.StateStale {
		what = "The rules changed while the user was asked, and it is decided anew."
	}
	if e.alive(r.Instance) || e.serves(r) {
		return what + " It waits for its turn."
	}
	return fmt.Sprintf("%s Nothing has run yet: the server that asked is gone, and it waits for one in the gear %s, which this one is not in. Tell your user to start one before %s.",
		what, ServersGear(r.Gear), r.Approval.Expires.Format(time.RFC3339))
}

// serves reports whether this process takes up what was asked about in the gear of a record.
func (e *Engine) serves(r execution.Record) bool {
	frozen, err := e.frozen(r.Request)
	return err != nil || ServersGear(frozen.Name()) == ServersGear(r.Gear) // what the gear refuses now is ended here
}

// narrow takes back what a question lists when the permit does not rest on the yes to it:
// the rules may have changed so that nobody has to be asked. The sandbox was made for that
// list, and another one takes its place.
func (e *Engine) narrow(op *operation, permit authz.Permit) (err error) {
	if op.approval == nil || op.approval.Answer == nil || permit.Approved() {
		return nil
	}
	e.leave(op.seat, 0)
	op.seat, op.granted = nil, op.gear
	op.place, err = e.c.Places.Place(op.ctx, op.request.Principal, op.gear, op.request.Language)
	return err
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

// withdraw ends an operation that waits, by the caller's wish. The error wraps
// [ErrConflict] when something else happened to it first.
func (e *Engine) withdraw(ctx context.Context, r execution.Record) error {
	ev := recordEvent(r, e.c.Clock.Now(), audit.Approval)
	ev.Decision, ev.Reason = "withdrawn", "the caller cancelled it"
	return e.conclude(ctx, r, execution.StatusCancelled, execution.CodeCancelled, "Execution was cancelled.", ev)
}

// close finishes an operation that no process has. Another one may be first.
func (e *Engine) close(ctx context.Context, r execution.Record, s execution.Status, c execution.Code, reason string, ev audit.Event) error {
	err := e.conclude(ctx, r, s, c, reason, ev)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

func (e *Engine) conclude(ctx context.Context, r execution.Record, s execution.Status, c execution.Code, reason string, ev audit.Event) error {
	change, finished := Closed(r, s, c, reason, e.c.Clock.Now())
	events := []audit.Event{finished}
	if ev.Type != "" {
		events = []audit.Event{ev, finished}
	}
	return e.c.Journal.Commit(ctx, r.ID, r.State, execution.StateFinished, change, events...)
}

// Closed is how an operation ends of which nothing was run: what is written into its
// record, and the event for it.
func Closed(r execution.Record, s execution.Status, c execution.Code, reason string, now time.Time) (execution.Change, audit.Event) {
	res := execution.Result{OperationID: r.ID, Gear: r.Gear}
	res = end(res, verdict{s, c, reason}, -1)
	if s == execution.StatusDenied && r.Approval != nil {
		res.Permissions = askedFor(r.Approval) // what was not approved
	}
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
