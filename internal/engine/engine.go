// Package engine takes a request through its life: submitted, analysed, decided,
// run, recorded. It is a state machine over records, and its steps are the list
// in [Engine.execute].
//
// The engine knows no backend, no store and no protocol: it declares the
// interfaces that it needs. What the code would do is analysis's business,
// whether it may is authz's, how it is contained is the sandbox's.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// The defaults of [Config].
const (
	// runsPerCore is how many operations are expected to be at work; waiting is how
	// many more are taken on.
	runsPerCore = 2
	waiting     = 1000
	// analysisLimit ends an analysis that the guest's own limit on processor time,
	// 250 ms, did not end: the process was starved or stopped.
	analysisLimit = 10 * time.Second
	// retryAfter is what a caller is told when the queue is full.
	retryAfter = 2 * time.Second
)

// Config is what an Engine needs. The interfaces are required, where nothing else is said.
type Config struct {
	Journal Journal
	Gears   Gears
	Places  Places
	Door    Door
	Exists  Exists
	// Tools are those of other servers; nil when there are none.
	Tools Tools
	// Bindings tell which of them a program would call; nil with Tools. With
	// ApproveScripts a human's yes to a program is one to the calls that stand in it;
	// otherwise each call that the rules ask about is asked about when it is made.
	Bindings       Bindings
	ApproveScripts bool
	// Getenv reads the operator's environment, for the variables that a rule grants.
	Getenv func(name string) (string, bool)
	Clock  Clock
	Logger *slog.Logger
	// Instance is the name of this process in the journal, and Elsewhere speaks with the
	// others; nil where the journal is this engine's alone.
	Instance  string
	Elsewhere Elsewhere
	// Queue is how many operations are taken on, those at work and those that wait for
	// a child together; 0 means two per core and 1,000 more. Above that, up to twice as
	// many, a principal is taken on that holds less than its share, so that nobody can
	// fill it for others: as many as the queue by the number of principals and one more.
	// What is taken up after a yes is counted apart from new requests, by the same rule.
	Queue int
	// MaxPending tells how many operations of one principal may wait for a human; nil, or
	// 0, does not bound.
	MaxPending func() int
	// MaxPause tells how long, in all, a run may stand still while humans are asked about its
	// calls: it holds memory all that time. Nil, or 0, is for 10 minutes.
	MaxPause func() time.Duration
	// Enter asks whether one more operation of the principal may be under way when it is
	// taken up after a yes; left is called once, when it no longer is. A
	// *[execution.RejectedError] with CodeUnavailable lets it wait. Nil does not bound.
	// New ones are bounded before they are submitted.
	Enter func(execution.Principal) (left func(), err error)
}

// Engine runs operations. It is safe for concurrent use.
type Engine struct {
	c    Config
	busy busy
	// callers are the programs that wait for a human to decide about a call.
	callers callers
	queue   atomic.Int64
	work    sync.WaitGroup
	open    context.Context // ends when the engine begins to close
	quit    context.CancelFunc
	root    context.Context // ends when it has closed
	stop    context.CancelFunc

	mu     sync.Mutex // guards what follows
	live   map[execution.ID]*operation
	closed bool
}

// New makes an Engine. Close ends it.
func New(c Config) (*Engine, error) {
	if c.Journal == nil || c.Gears == nil || c.Places == nil || c.Door == nil ||
		c.Exists == nil || c.Getenv == nil || c.Clock == nil || c.Logger == nil {
		return nil, errors.New("engine: a part is missing")
	}
	if c.Elsewhere == nil {
		c.Elsewhere = nobody{}
	}
	if c.MaxPending == nil {
		c.MaxPending = func() int { return 0 }
	}
	if c.MaxPause == nil {
		c.MaxPause = func() time.Duration { return 0 }
	}
	if c.Enter == nil {
		c.Enter = func(execution.Principal) (func(), error) { return func() {}, nil }
	}
	if c.Tools == nil {
		c.Tools = noTools{}
	}
	e := &Engine{c: c, live: map[execution.ID]*operation{}}
	e.SetQueue(c.Queue)
	e.open, e.quit = context.WithCancel(context.Background())
	e.root, e.stop = context.WithCancel(context.Background())
	return e, nil
}

// Submit takes a request on and returns at once. The error is a
// *[execution.RejectedError] when the call cannot be taken: then there is no
// operation.
func (e *Engine) Submit(ctx context.Context, r execution.Request) (execution.ID, error) {
	return e.submit(ctx, r, func(execution.ID) {})
}

// submit is Submit that tells the name of the operation before anything is done for it.
func (e *Engine) submit(ctx context.Context, r execution.Request, known func(execution.ID)) (execution.ID, error) {
	frozen, err := e.frozen(r)
	if err != nil {
		return "", err
	}
	place, err := e.place(ctx, r, frozen)
	if err != nil {
		return "", err
	}
	op := newOperation(e.root, e.c.Clock.Now(), r, frozen, place) //nolint:contextcheck // the work outlives the call
	if err := e.admit(op); err != nil {
		return "", err
	}
	known(op.id)
	go e.life(op)                                                           //nolint:contextcheck // the operation has a context of its own
	stop := e.c.Clock.AfterFunc(mostUnrecorded, func() { _ = e.begin(op) }) //nolint:contextcheck // as above
	defer stop()
	<-op.begun
	if op.unbegun != nil {
		return "", op.unbegun
	}
	return op.id, nil
}

// place is where the request's program would run in the gear. What is refused without a
// look at the program needs none, and neither does a call of a tool.
func (e *Engine) place(ctx context.Context, r execution.Request, g gear.Frozen) (Place, error) {
	if r.Language == execution.Tool || precheck(g, r) != nil || !g.Enabled() {
		return Place{}, nil
	}
	return e.c.Places.Place(ctx, r.Principal, g, r.Language)
}

// frozen is what decides about a request, which the gear has to accept.
func (e *Engine) frozen(r execution.Request) (gear.Frozen, error) {
	f, err := e.c.Gears.Freeze(r.Principal, r.Gear)
	if err != nil {
		return gear.Frozen{}, err
	}
	if most := f.Limits().MaxTimeout; r.Timeout > most {
		return gear.Frozen{}, &execution.RejectedError{
			Code: execution.CodeInvalidArgument, Field: "timeout_seconds",
			Message: fmt.Sprintf("%v: the gear %s allows at most %v seconds", r.Timeout.Seconds(), f.Name(), most.Seconds()),
		}
	}
	return f, nil
}

// life takes an operation from its sandbox to its recorded end. The request is recorded
// while a sandbox looks at the source: that takes as long, and one that cannot be
// recorded goes no further.
func (e *Engine) life(op *operation) {
	defer e.work.Done()
	defer op.left()
	result := e.execute(op)
	op.seat.settle()
	if e.begin(op) != nil {
		e.leave(op.seat, 0)
		op.answer = op.failed()
		close(op.done)
		e.forget(op)
		return
	}
	if op.question != nil {
		e.leave(op.seat, 0) // hours may pass, and nothing of the request stays in a sandbox
		err := e.pend(op, result)
		if err == nil {
			return
		}
		result = op.unasked(err)
	}
	if e.handBack(op) {
		return
	}
	owed := e.finish(op, result)
	e.leave(op.seat, e.pause())
	e.insist(op, owed)
}

// Wait waits for the operation to end, at most for d, and tells how it stands.
// An unknown id is a *[execution.RejectedError].
func (e *Engine) Wait(ctx context.Context, p execution.Principal, id execution.ID, d time.Duration) (execution.Result, error) {
	began := e.c.Clock.Now()
	if op := e.find(p, id); op != nil {
		if !e.await(ctx, op, d, nil) {
			return op.running(), nil
		}
		if !op.lost {
			return op.answer, nil
		}
		d = max(0, d-e.c.Clock.Now().Sub(began))
	}
	rec, err := e.follow(ctx, p, id, d, func(s execution.State) bool { return s == execution.StateFinished })
	if err != nil {
		return execution.Result{}, notFound(id, err)
	}
	return e.told(rec), nil
}

// await waits for the end, at most for d and until something is asked, and tells whether it
// is there.
func (e *Engine) await(ctx context.Context, op *operation, d time.Duration, asked <-chan struct{}) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := e.c.Clock.AfterFunc(d, cancel)
	defer stop()
	select {
	case <-op.done:
	case <-ctx.Done():
	case <-asked:
	}
	select {
	case <-op.done:
		return true
	default:
		return false
	}
}

// Cancel ends the operation and waits until its process tree is dead, whichever process
// runs it.
func (e *Engine) Cancel(ctx context.Context, p execution.Principal, id execution.ID) (execution.Result, error) {
	for {
		err := e.cancel(ctx, p, id)
		switch {
		case err == nil:
			return e.Wait(ctx, p, id, 0)
		case ctx.Err() != nil:
			return execution.Result{}, ctx.Err()
		case !errors.Is(err, ErrConflict):
			return execution.Result{}, notFound(id, err)
		}
	}
}

// cancel ends the operation as it stands. The error wraps [ErrConflict] when it moved on
// meanwhile, as from one process to another, or by a human's yes.
func (e *Engine) cancel(ctx context.Context, p execution.Principal, id execution.ID) error {
	if op := e.find(p, id); op != nil {
		op.cancel(errCancelled)
		select {
		case <-op.done:
		case <-op.unwritten:
			return nil // no process is left of it
		case <-ctx.Done():
			return ctx.Err()
		}
		if op.lost || op.answer.Status == execution.StatusPendingApproval {
			return ErrConflict
		}
		return nil
	}
	rec, err := e.load(ctx, p, id)
	switch {
	case err != nil || rec.State == execution.StateFinished:
		return err
	case rec.State.Waits():
		return e.withdraw(ctx, rec)
	case rec.Instance != e.c.Instance:
		return e.c.Elsewhere.Cancel(ctx, rec.Instance, p, id)
	}
	return nil
}

func (e *Engine) find(p execution.Principal, id execution.ID) *operation {
	e.mu.Lock()
	defer e.mu.Unlock()
	op := e.live[id]
	if op == nil || op.request.Principal != p {
		return nil
	}
	return op
}

// Shut takes no more work and cancels what runs, without waiting for it.
func (e *Engine) Shut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, op := range e.live {
		op.cancel(errShutdown)
	}
}

// Close cancels what runs, waits for it, and takes no more work.
func (e *Engine) Close() {
	e.Shut()
	e.quit()
	e.work.Wait()
	e.stop()
}

func notFound(id execution.ID, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("load %s: %w", id, err)
	}
	return &execution.RejectedError{
		Code: execution.CodeNotFound, Field: "operation_id",
		Message: fmt.Sprintf("there is no operation %q", string(id)),
	}
}

// precheck refuses what a gear refuses without looking at what the code does.
func precheck(g gear.Frozen, r execution.Request) *execution.Error {
	if !g.AllowsLanguage(r.Language) {
		return languageRefused(g, r.Language)
	}
	return sourceRefused(g, r.Code)
}
