package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// mostUnrecorded is how long a request that was taken on goes unrecorded while nothing
// was done for it yet.
const mostUnrecorded = 5 * time.Millisecond

// recordAgain is how long the end of an operation that could not be recorded waits for
// the next attempt.
const recordAgain = time.Second

// reasoned is an error of a journal that can say in a few words, for callers, what keeps
// it from writing, such as that the disk is full. Empty means that it cannot.
type reasoned interface {
	error
	Reason() string
}

// begin records the request, once, whoever is first. The error is why it could not be;
// then the operation ends.
func (e *Engine) begin(op *operation) error {
	op.beginning.Do(func() {
		defer close(op.begun)
		rec := execution.Record{ID: op.id, Request: op.request, Instance: e.c.Instance, Gear: op.gear.Name(), Created: op.created}
		ev := op.event(op.created, audit.Requested)
		if c, ok := execution.CallOf(op.request); ok && c.Run != "" {
			ev.Details = map[string]string{"run": string(c.Run)}
		}
		err := e.c.Journal.Commit(context.WithoutCancel(op.ctx), op.id, "", execution.StateSubmitted, execution.Change{Create: &rec}, ev)
		if err != nil {
			op.unbegun = e.unrecordable(err)
			op.cancel(errUntaken)
		}
	})
	return op.unbegun
}

// unrecordable is the answer while nothing can be recorded: nothing runs either. It wraps
// the journal's error behind a *[execution.RejectedError].
func (e *Engine) unrecordable(err error) error {
	e.c.Logger.Error("a request could not be recorded and was not taken", "error", err)
	return fmt.Errorf("%w (%w)", &execution.RejectedError{
		Code: execution.CodeUnavailable, RetryAfter: retryAfter,
		Message: "the request could not be recorded, and nothing is run unrecorded: " + because(err),
	}, err)
}

// because is what callers are told of an error of the journal.
func because(err error) string {
	if r, ok := errors.AsType[reasoned](err); ok && r.Reason() != "" {
		return r.Reason() + ", and the log of the server says where"
	}
	return "the log of the server has the reason"
}

// finish records how the operation ended, before anyone is told: nothing unrecorded is
// reported. When that fails it goes on being waited for, and what is still to be written
// is returned, which is nil otherwise.
func (e *Engine) finish(op *operation, res execution.Result) (owed func() error) {
	now := e.c.Clock.Now()
	out, errOut := op.output()
	ev := op.event(now, audit.Finished)
	ev.Status, ev.ExitCode, ev.Usage = res.Status, res.ExitCode, op.usage
	if res.Error != nil {
		ev.Reason = res.Error.Code
	}
	var change execution.Change
	events := append(op.decided, ev)
	if op.state == execution.StateResumed && res.Status == execution.StatusDenied {
		var answered []audit.Event
		change, answered = op.answered(execution.Refused, now)
		events = append(answered, events...)
	}
	change.Finished, change.Result, change.Stdout, change.Stderr = now, &res, &out, &errOut
	write := func() error {
		return e.c.Journal.Commit(context.WithoutCancel(op.ctx), op.id, op.state, execution.StateFinished, change, events...)
	}
	if err := write(); err != nil {
		e.c.Logger.Error("the end of an execution could not be recorded, which is tried again", "operation_id", op.id, "error", err)
		op.cancel(nil)
		close(op.unwritten)
		return write
	}
	op.answer = answer(res, out, errOut)
	op.cancel(nil)
	close(op.done)
	e.forget(op)
	return nil
}

// insist writes what could not be written, when it can be again: a full disk costs time
// and no operation. Until then it counts as one that was taken on. When the engine
// closes it is tried a last time, and then left to be found as interrupted.
func (e *Engine) insist(op *operation, owed func() error) {
	for owed != nil {
		e.sleep(e.open, recordAgain)
		err := owed()
		switch {
		case err == nil || errors.Is(err, ErrConflict): // it is written, if not by this attempt
			e.c.Logger.Info("the end of an execution is recorded after all", "operation_id", op.id)
			op.lost = true // whoever waits for it reads the record
			e.forget(op)
			close(op.done)
			return
		case e.open.Err() != nil:
			e.c.Logger.Error("the end of an execution is lost", "operation_id", op.id, "error", err)
			op.answer = unrecorded(op)
			close(op.done)
			return
		}
	}
}
