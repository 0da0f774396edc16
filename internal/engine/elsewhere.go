package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Elsewhere speaks with the other processes that share the journal. It is safe for
// concurrent use.
type Elsewhere interface {
	// Alive reports whether the process of that name lives. One that is dead never lives
	// again under its name.
	Alive(instance string) bool
	// Cancel has the process end an operation of the principal, and returns when it has.
	Cancel(ctx context.Context, instance string, p execution.Principal, id execution.ID) error
}

// nobody is Elsewhere for an engine that has its journal for itself.
type nobody struct{}

func (nobody) Alive(string) bool { return false }

func (nobody) Cancel(context.Context, string, execution.Principal, execution.ID) error { return nil }

// How often an operation of another process is looked for: at once for one that is
// nearly over, and rarely for one that takes long.
const (
	firstLook = 10 * time.Millisecond
	mostLook  = 500 * time.Millisecond
)

// Recover finishes the operations of dead processes as interrupted and tells how many
// those were. Each is finished once, whichever of the living processes is first.
func (e *Engine) Recover(ctx context.Context) (int, error) {
	n, err := e.c.Journal.Interrupt(ctx, e.alive, func(r execution.Record) (execution.Change, audit.Event) {
		return Interrupted(r, e.c.Clock.Now())
	})
	if err != nil {
		return n, fmt.Errorf("finish what dead processes left: %w", err)
	}
	return n, nil
}

func (e *Engine) alive(instance string) bool {
	return instance == e.c.Instance || e.c.Elsewhere.Alive(instance)
}

// load reads an operation that this process does not run. One whose process is dead has
// ended, even if nobody has said so yet.
func (e *Engine) load(ctx context.Context, p execution.Principal, id execution.ID) (execution.Record, error) {
	r, err := e.c.Journal.Load(ctx, p, id)
	if err != nil || r.State == execution.StateFinished || r.State.Waits() || e.alive(r.Instance) {
		return r, err
	}
	if _, err := e.Recover(ctx); err != nil {
		return execution.Record{}, err
	}
	return e.c.Journal.Load(ctx, p, id)
}

// follow waits until it is over with an operation that this process does not run, at most
// for d, and returns it as it then stands.
func (e *Engine) follow(ctx context.Context, p execution.Principal, id execution.ID, d time.Duration, over func(execution.State) bool) (execution.Record, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer e.c.Clock.AfterFunc(d, cancel)()
	for {
		// The last look is one after the time is over.
		r, err := e.load(context.WithoutCancel(ctx), p, id)
		if err != nil || over(r.State) || ctx.Err() != nil {
			return r, err
		}
		if err := e.change(ctx, p, r); err != nil {
			return r, err
		}
	}
}

// change waits until an operation that this process does not run stands elsewhere than
// the record says, or its process is dead, or ctx ends. It looks at nothing else: very many
// may wait, for hours, each with a large record.
func (e *Engine) change(ctx context.Context, p execution.Principal, r execution.Record) error {
	for pause := firstLook; ; pause = min(2*pause, mostLook) {
		e.sleep(ctx, pause)
		if ctx.Err() != nil || !r.State.Waits() && !e.alive(r.Instance) {
			return nil
		}
		if now, err := e.c.Journal.State(ctx, p, r.ID); ctx.Err() == nil && (err != nil || now != r.State) {
			return err
		}
	}
}

func (e *Engine) sleep(ctx context.Context, d time.Duration) {
	over := make(chan struct{})
	defer e.c.Clock.AfterFunc(d, func() { close(over) })()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// told is the answer for an operation from its record.
func (e *Engine) told(r execution.Record) execution.Result {
	res := execution.Result{Status: execution.StatusRunning, OperationID: r.ID, ExitCode: -1, Gear: r.Gear}
	switch {
	case r.State == execution.StateFinished:
		return Answer(r)
	case r.State == execution.StatePending && r.Approval != nil:
		res.Status = execution.StatusPendingApproval
		return pendingOn(res, r.Approval)
	case r.State.Waits() && r.Approval != nil:
		res.Summary, res.ExpiresAt = e.waitsFor(r), r.Approval.Expires.Format(time.RFC3339)
	}
	return res
}
