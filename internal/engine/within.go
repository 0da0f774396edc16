package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// ReadResource is the name under which the reading of a resource is decided and recorded
// as a call of a tool is. A rule for all tools of a server covers it.
const ReadResource = "resources:read"

// answerTo answers one call frame of a program that runs.
func (e *Engine) answerTo(op *operation) answerer {
	return func(one *call) (bridge.AnswerHead, []byte) {
		switch head := one.head; head.Want {
		case bridge.WantCall:
			return e.callWithin(op, one, head.Tool, one.body)
		case bridge.WantRead:
			uri, err := json.Marshal(map[string]string{"uri": head.URI})
			if err != nil {
				return failure(&tool.Error{Class: tool.Invalid, Message: err.Error(), Server: head.Server}), nil
			}
			return e.callWithin(op, one, ReadResource, uri)
		default:
			return e.c.Tools.Ask(one.ctx, head)
		}
	}
}

// callWithin makes a call for a program that runs. What the rules allow is called at once;
// what they ask a human about becomes an operation of its own, for which the program waits
// while its time stands still.
func (e *Engine) callWithin(op *operation, one *call, name string, arguments []byte) (bridge.AnswerHead, []byte) {
	a, err := e.within(op, one, name, arguments)
	err = one.inTime(err, one.head.Server, name)
	if err == nil {
		return a.Head, a.Body
	}
	failed, ok := errors.AsType[*tool.Error](err)
	switch {
	case ok && a.Head.Error != nil && !one.late():
		return a.Head, a.Body // the tool's own words
	case ok:
		return failure(failed), nil
	case one.ctx.Err() == nil:
		e.c.Logger.Error("a call of a tool failed for a reason of our own", "operation_id", op.id, "tool", name, "error", err)
	}
	return failure(&tool.Error{Class: tool.Unavailable, Message: "The call could not be made; the log of the server has the reason."}), nil
}

func (e *Engine) within(op *operation, one *call, name string, arguments []byte) (Answered, error) {
	ctx := one.ctx
	p, err := e.c.Tools.Prepare(ctx, one.head.Server, name, arguments)
	if err != nil {
		return Answered{}, err
	}
	p.Subject = op.subjectOfCall(p, strconv.FormatUint(uint64(one.id), 10))
	wish := op.wish(p, op.granted, 0)
	wish.Approval = nil // one to the program is none to its calls
	permit, err := e.c.Door.Authorize(ctx, wish)
	var pending *authz.PendingError
	var denied *authz.DeniedError
	switch {
	case errors.As(err, &pending):
		return e.askWithin(op, one, p)
	case errors.As(err, &denied):
		return Answered{}, refusedCall(denied, p)
	case err != nil:
		return Answered{}, err
	}
	return e.perform(op, one, p, permit)
}

// perform makes a call that is permitted. What is about to be called is in the record
// before, and how that ended before the program is told.
func (e *Engine) perform(op *operation, one *call, p Prepared, permit authz.Permit) (Answered, error) {
	ctx := one.ctx
	began := e.c.Clock.Now()
	events := append(permit.Decisions(), op.accepted(began, p)...)
	events = append(events, op.toolCall(began, p, execution.StatusRunning, 0))
	if err := e.c.Journal.Record(ctx, events...); err != nil {
		return Answered{}, fmt.Errorf("record a call: %w", err)
	}
	a, err := e.c.Tools.Perform(ctx, p, permit)
	err = one.inTime(err, one.head.Server, p.Entry.Definition.Name)
	now := e.c.Clock.Now()
	done := op.toolCall(now, p, callStatus(err), now.Sub(began))
	if failed := e.c.Journal.Record(context.WithoutCancel(ctx), done); failed != nil {
		return Answered{}, fmt.Errorf("record the end of a call: %w", failed)
	}
	return a, err
}

// refusedCall is what a program is told of the door's no.
func refusedCall(d *authz.DeniedError, p Prepared) *tool.Error {
	message := d.Error() + "."
	for _, r := range d.Refusals {
		message = fmt.Sprintf("tool(%s) is refused. %s", p.ID(), r.Hint)
		if r.Allow != "" {
			message += fmt.Sprintf(" An operator would permit it with --allow '%s'.", r.Allow)
		}
	}
	return p.failed(tool.Denied, message)
}
