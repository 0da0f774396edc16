package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver/tasks"
)

const (
	// taskAfter is how long a client that knows tasks waits for a result, unless it says
	// otherwise: most programs end before.
	taskAfter = time.Second
	// pollRunning and pollWaiting are how often to ask about a task: nobody decides within
	// a second.
	pollRunning = time.Second
	pollWaiting = 5 * time.Second
	// taskKept is how long a task can be asked about from now on, at least. Records are
	// kept for longer.
	taskKept = time.Hour
)

// operationTasks are the operations of a caller as tasks. The id of one is that of the
// operation, so that whoever asks by the extension and whoever asks by get_operation
// learn the same. There is nothing in a task that a client could answer: what a human is
// asked is answered elsewhere.
type operationTasks struct{ *service }

var _ tasks.Book = operationTasks{}

// Task implements [tasks.Book].
func (t operationTasks) Task(ctx context.Context, id string) (tasks.Task, error) {
	if !t.mayAsk() {
		return tasks.Task{}, tasks.ErrUnknown
	}
	res, err := t.engine.WaitUnlessAsked(ctx, t.caller.Principal, execution.ID(id), 0)
	if err != nil {
		return tasks.Task{}, t.unknownTask(ctx, id, err)
	}
	return t.task(ctx, res)
}

// Update implements [tasks.Book].
func (t operationTasks) Update(ctx context.Context, id string, _ map[string]json.RawMessage) error {
	if !t.mayAsk() {
		return tasks.ErrUnknown
	}
	_, err := t.records.State(ctx, t.caller.Principal, execution.ID(id))
	return t.unknownTask(ctx, id, err)
}

// Cancel implements [tasks.Book].
func (t operationTasks) Cancel(ctx context.Context, id string) error {
	if !t.caller.MayCall(cancelOperationName) {
		return tasks.ErrUnknown
	}
	_, err := t.cancel(ctx, execution.ID(id))
	return t.unknownTask(ctx, id, err)
}

// unknownTask is the error of a book for one of the engine or the records.
func (t operationTasks) unknownTask(ctx context.Context, id string, err error) error {
	var rejected *execution.RejectedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rejected) && rejected.Code == execution.CodeNotFound:
		return tasks.ErrUnknown
	}
	t.logFailure(ctx, execution.ID(id), err)
	return err
}

// task is how an operation stands, as a task.
func (t operationTasks) task(ctx context.Context, res execution.Result) (tasks.Task, error) {
	at, err := t.records.Standing(ctx, t.caller.Principal, res.OperationID)
	if err != nil {
		return tasks.Task{}, t.unknownTask(ctx, string(res.OperationID), err)
	}
	out := tasks.Task{
		ID: string(res.OperationID), Status: tasks.Working, Created: at.Created, Updated: at.Changed,
		TTL: time.Since(at.Created) + taskKept, Poll: pollRunning,
	}
	switch {
	case res.Status == execution.StatusPendingApproval || res.AsksWithin():
		out.Message, out.Poll = t.text(res), pollWaiting
	case res.Status == execution.StatusCancelled:
		out.Status, out.Message = tasks.Cancelled, res.Stderr
	case res.Status.Final():
		out.Status, out.Result = tasks.Completed, t.answer(res)
	default:
		out.Message = cmp.Or(t.visible(res.Summary), "The program was taken on and has not ended.")
	}
	return out, nil
}

// mayBecomeTask answers a call with a task when it is not over and the client wants that.
func (s *service) mayBecomeTask(ctx context.Context, res execution.Result) {
	if res.Status.Final() || !tasks.Wanted(ctx) || !s.mayAsk() {
		return
	}
	if t, err := (operationTasks{s}).task(ctx, res); err == nil {
		tasks.Become(ctx, t) // else the answer names the operation
	}
}
