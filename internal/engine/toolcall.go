package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// call is the life of an operation that is one call of a tool: there is no program and no
// sandbox, and everything else is as it is for a run.
func (e *Engine) call(op *operation) (execution.Result, error) {
	if err := e.begin(op); err != nil {
		return execution.Result{}, err
	}
	c, err := execution.ParseCall(op.request.Code)
	if err != nil {
		return execution.Result{}, err
	}
	waits := e.callers.of(op.id)
	if c.Run != "" && waits == nil {
		return op.ofDeadRun(), nil
	}
	p, err := e.c.Tools.Prepare(op.ctx, "", c.Tool, c.Arguments)
	if err != nil {
		waits.answer(Answered{}, err)
		return op.notCalled(err)
	}
	p.Subject = op.subjectOfCall(p, "")
	op.subject = p.Subject
	permit, err := e.c.Door.Authorize(op.ctx, op.wish(p, op.gear, waits.patience()))
	if err != nil {
		if denied, ok := errors.AsType[*authz.DeniedError](err); ok {
			waits.answer(Answered{}, refusedCall(denied, p))
		}
		return op.turnedAway(err)
	}
	if !waits.begin() { // from here on the time of the program passes again
		return op.ofDeadRun(), nil
	}
	op.decided = permit.Decisions()
	if err := e.startCall(op, p); err != nil {
		return execution.Result{}, err
	}
	began := e.c.Clock.Now()
	answered, err := e.c.Tools.Perform(op.ctx, p, permit)
	op.usage.Wall = e.c.Clock.Now().Sub(began)
	op.decided = []audit.Event{op.toolCall(e.c.Clock.Now(), p, callStatus(err), op.usage.Wall)}
	waits.answer(answered, err)
	if err != nil {
		return op.notCalled(err)
	}
	return op.called(p, answered), nil
}

// startCall records what was decided and that the call is about to be made.
func (e *Engine) startCall(op *operation, p Prepared) error {
	now := e.c.Clock.Now()
	events := append(op.decided, op.event(now, audit.Started))
	events = append(events, op.accepted(now, p)...)
	events = append(events, op.toolCall(now, p, execution.StatusRunning, 0))
	if err := e.c.Journal.Commit(op.ctx, op.id, op.state, execution.StateRunning, execution.Change{}, events...); err != nil {
		return fmt.Errorf("record the start: %w", err)
	}
	op.state, op.decided = execution.StateRunning, nil
	return nil
}

// wish is what the door is asked about a call.
func (op *operation) wish(p Prepared, g gear.Frozen, patience time.Duration) authz.Action {
	return authz.Action{
		Operation: op.id, Principal: op.request.Principal, Client: op.request.Client, Gear: g,
		Moment: authz.ToolCall, Code: op.code, Subject: p.Subject, Source: op.request.Code,
		Asks:    []policy.Permission{{Kind: policy.Tool, Target: p.ID(), ReadOnly: p.ReadOnly}},
		Changed: p.Changed, Patience: patience, Approval: op.approval,
	}
}

// subjectOfCall is the digest of exactly this call: a yes to it is one to these arguments,
// to the tool as it was described, once.
func (op *operation) subjectOfCall(p Prepared, id string) execution.Digest {
	gear := op.gear.Digest()
	return execution.DigestOf([]byte("tool call"), []byte(op.id), []byte(op.request.Principal), []byte(id),
		[]byte(p.ID()), p.Entry.Pin[:], p.Arguments, gear[:], []byte(p.Changed))
}

// toolCall is the event of a call: one before it is made, and one after.
func (op *operation) toolCall(now time.Time, p Prepared, s execution.Status, took time.Duration) audit.Event {
	e := op.event(now, audit.ToolCall)
	e.Permission, e.Status, e.Usage.Wall = policy.Permission{Kind: policy.Tool, Target: p.ID()}.String(), s, took
	e.Details = map[string]string{"arguments": p.recorded(), "arguments_digest": execution.DigestOf(p.Arguments).String(), "definition": p.Entry.Pin.String()}
	return e
}

// callStatus is how a call ended.
func callStatus(err error) execution.Status {
	var failed *tool.Error
	switch {
	case err == nil:
		return execution.StatusOK
	case errors.Is(err, context.Canceled):
		return execution.StatusCancelled
	case errors.As(err, &failed) && failed.Class == tool.Timeout:
		return execution.StatusTimeout
	}
	return execution.StatusError
}

// mostAttached bounds what is kept of an answer beside text, in bytes.
const mostAttached = 8 << 20

// called is the answer of a tool as that of an operation: a value that is not too long to
// be one, or else text.
func (op *operation) called(p Prepared, a Answered) execution.Result {
	r := op.base(execution.StatusOK)
	r.ExitCode, r.DurationMS = 0, milliseconds(op.usage.Wall)
	if v := a.Result.Structured; len(v) > 0 && len(v) <= int(op.limits.OutputKept) && json.Valid(v) {
		r.Value = v
	} else {
		op.stdout.Write([]byte(p.Entry.Text(a.Result, math.MaxInt)))
	}
	left := mostAttached
	for _, b := range a.Result.Blocks {
		if b.Kind == tool.Text {
			continue
		}
		if left -= len(b.Data); left < 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s of %d bytes is too large to be passed on: call the tool from Python and keep what you need", b.MIME, len(b.Data)))
		} else {
			r.Attachments = append(r.Attachments, execution.Attachment{Data: b.Data, MIME: b.MIME, Name: b.Name, URI: b.URI})
		}
	}
	return r
}

// notCalled is the answer when there is no answer of a tool.
func (op *operation) notCalled(err error) (execution.Result, error) {
	failed, ok := errors.AsType[*tool.Error](err)
	if !ok {
		return execution.Result{}, err
	}
	r := op.base(execution.StatusError)
	r.DurationMS = milliseconds(op.usage.Wall)
	r.Stderr = failed.Message
	for _, p := range failed.Problems {
		r.Stderr += "\n- " + p
	}
	r.Error = &execution.Error{Code: string(failed.Class), Message: r.Stderr}
	return r, nil
}

// ofDeadRun is how a call ends whose program waits for it no longer.
func (op *operation) ofDeadRun() execution.Result {
	return end(op.base(execution.StatusInterrupted), verdict{
		execution.StatusInterrupted, execution.CodeInterrupted, "The run whose program asked for this call has ended. Nothing was called.",
	}, -1)
}
