package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Extension is the name of the extension among the capabilities.
const Extension = "io.modelcontextprotocol/tasks"

// Status says how a task stands.
type Status string

// The statuses. A tool that failed has completed: failed is for protocol errors.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Task is a call that goes on after its answer.
type Task struct {
	ID      string
	Status  Status
	Message string // for whoever waits; may be empty
	Created time.Time
	Updated time.Time
	// TTL is how long after its creation the task can be asked about at least.
	TTL time.Duration
	// Poll is how often to ask.
	Poll time.Duration

	Result *mcp.CallToolResult // of a completed task
	Error  *jsonrpc.Error      // of a failed one
	Inputs mcp.InputRequestMap // of one that needs input
}

// ErrUnknown says that the caller has no such task.
var ErrUnknown = errors.New("there is no such task")

// Book keeps the tasks of one caller. It is safe for concurrent use. Errors are
// [ErrUnknown] or failures that the book has told of: the caller learns only that it failed.
type Book interface {
	Task(ctx context.Context, id string) (Task, error)
	// Update takes answers to what a task asks for. Those to nothing that it asks for now
	// are ignored.
	Update(ctx context.Context, id string, answers map[string]json.RawMessage) error
	// Cancel ends a task. One that has ended stays as it is.
	Cancel(ctx context.Context, id string) error
}

// Join is the tasks of several books.
func Join(books ...Book) Book { return joined(books) }

type joined []Book

// first does something in the first book that has the task.
func (j joined) first(do func(Book) error) error {
	for _, b := range j {
		if err := do(b); !errors.Is(err, ErrUnknown) {
			return err
		}
	}
	return ErrUnknown
}

// Task implements [Book].
func (j joined) Task(ctx context.Context, id string) (t Task, err error) {
	err = j.first(func(b Book) error {
		t, err = b.Task(ctx, id)
		return err
	})
	return t, err
}

// Update implements [Book].
func (j joined) Update(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	return j.first(func(b Book) error { return b.Update(ctx, id, answers) })
}

// Cancel implements [Book].
func (j joined) Cancel(ctx context.Context, id string) error {
	return j.first(func(b Book) error { return b.Cancel(ctx, id) })
}
