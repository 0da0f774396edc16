package engine

import (
	"context"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Journal keeps operations. Commit is one step: the record moves from one state
// to another and the events are kept, or nothing happens and an error says so.
// It is compare-and-set: a record that is not in state from is left alone and
// the error wraps [ErrConflict]. Load answers [ErrNotFound] for an unknown id
// and for another principal's alike.
type Journal interface {
	Commit(ctx context.Context, id execution.ID, from, to execution.State, change execution.Change, events ...audit.Event) error
	Load(ctx context.Context, p execution.Principal, id execution.ID) (execution.Record, error)
	// Interrupt finishes the unfinished operations of instances that are not alive, each
	// once, with what end makes of it, and tells how many it has finished.
	Interrupt(ctx context.Context, alive func(instance string) bool, end func(execution.Record) (execution.Change, audit.Event)) (int, error)
	// Due are the operations of every principal that a human said yes to and no process
	// has taken up, and those whose question has expired by now, the oldest first. It
	// costs no more when very many others wait for a human.
	Due(ctx context.Context, now time.Time) ([]Due, error)
}

// Due names an operation that waits no longer, or not for a human.
type Due struct {
	ID        execution.ID
	Principal execution.Principal
	Instance  string    // the process that had it last
	Until     time.Time // when the question expires, or the yes to it
}

// Gears makes the decision basis of one run: for a principal, whose ceiling is part of
// it, and the gear that the call named, or none. The error is a
// *[execution.RejectedError] when the named gear is at fault, or the principal may not
// run anything.
type Gears interface {
	Freeze(p execution.Principal, name string) (gear.Frozen, error)
}

// Place is where a run would take place.
type Place struct {
	Children Children
	Template sandbox.Template
	// Interpreter names what is run, whatever form it has on this machine.
	Interpreter execution.Digest
	// Analyser is the version of what reports the facts.
	Analyser  string
	Backend   string
	Isolation execution.Level
	// Warnings are said in every answer.
	Warnings []string
}

// Places finds the place for a principal, a gear and a language. It waits while the
// interpreter is still being prepared. The error is a
// *[execution.RejectedError] when there is none.
type Places interface {
	Place(ctx context.Context, p execution.Principal, g gear.Frozen, l execution.Language) (Place, error)
}

// Children hands out parked children, to each principal in turn. The release
// function is called once, after the child is dead.
type Children interface {
	Child(ctx context.Context, t sandbox.Template, p execution.Principal) (child sandbox.Child, release func(), err error)
}

// Door is the only way to a permit.
type Door interface {
	Authorize(context.Context, authz.Action) (authz.Permit, error)
}

// Caller is in whose name a program calls tools.
type Caller struct {
	Operation execution.ID
	Principal execution.Principal
	Client    execution.Client
	Gear      gear.Frozen
}

// Tools answers what a program asks of the tools of other servers: the call that its head
// and body say, which [bridge.ReadCall] has let pass. Whatever fails is an answer with an
// Error. Answer is called by many goroutines at once and returns when ctx ends: then
// nobody is left to hear it.
type Tools interface {
	Answer(ctx context.Context, c Caller, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte)
}

// noTools answers where no server is configured.
type noTools struct{}

func (noTools) Answer(_ context.Context, _ Caller, head bridge.CallHead, _ []byte) (bridge.AnswerHead, []byte) {
	return bridge.AnswerHead{Error: &bridge.CallError{
		Class: "ServerUnavailable", Server: head.Server, Tool: head.Tool,
		Message: "no MCP servers are configured: the operator starts Gearbox with --mcp-servers FILE to have some",
	}}, nil
}

// Exists reports whether a path exists on the host: only such a path can be asked for.
type Exists func(path string) bool

// Clock is the time of the host.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, after d, unless it is stopped before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}
