// Package quota bounds what one principal may start: how many executions in a minute,
// and how many at once. It stands before the engine, whose own bounds are for all
// together.
//
// What belongs here: counting, and the answer to what is too much. Which bounds hold
// for whom is for the one who wires it up.
//
// # Invariants
//
//   - Nothing waits here: what is too much is refused at once, with the time after
//     which to come again.
//   - A principal without bounds costs nothing.
package quota

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Bounds are those of one principal. Zero fields are no bound.
type Bounds struct {
	// Rate is how many executions may be started in a minute. A sixth of them, what is
	// due in ten seconds, may come together.
	Rate int
	// Concurrency is how many may be under way at once.
	Concurrency int
}

// Book tells the bounds of a principal, as they are now. It is safe for concurrent use.
type Book interface {
	Bounds(execution.Principal) (Bounds, error)
}

// Engine is what is bounded, see [engine.Engine] for what its methods do.
type Engine interface {
	Submit(context.Context, execution.Request) (execution.ID, error)
	Wait(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	WaitUnlessAsked(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	Cancel(context.Context, execution.Principal, execution.ID) (execution.Result, error)
	Output(ctx context.Context, p execution.Principal, id execution.ID, stream string, offset int64, max int) (execution.Chunk, error)
}

const (
	// burst is the share of a minute's executions that may come together.
	burst = 6
	// roomAfter is what a caller is told who has too many executions under way: nobody
	// knows when one ends.
	roomAfter = time.Second
	// watchTime is for one wait for the end of an execution; then comes another.
	watchTime = time.Hour
)

// Limiter is an engine that holds principals to their bounds. It is safe for
// concurrent use. Close ends it, after the engine.
type Limiter struct {
	Engine

	book  Book
	now   func() time.Time
	root  context.Context //nolint:containedctx // ends with the Limiter, and belongs to no call
	stop  context.CancelFunc
	watch sync.WaitGroup

	mu       sync.Mutex // guards what follows
	accounts map[execution.Principal]*account
}

// account is what a principal has used.
type account struct {
	rate     *rate.Limiter
	perMin   int
	underWay int
}

// New makes a Limiter before an engine.
func New(e Engine, b Book, now func() time.Time) *Limiter {
	l := &Limiter{Engine: e, book: b, now: now, accounts: map[execution.Principal]*account{}}
	l.root, l.stop = context.WithCancel(context.Background())
	return l
}

// Submit passes a request on if its principal may start one more. The error is a
// *[execution.RejectedError] with the time to wait if not.
func (l *Limiter) Submit(ctx context.Context, r execution.Request) (execution.ID, error) {
	b, err := l.book.Bounds(r.Principal)
	if err != nil {
		return "", fmt.Errorf("look up the bounds of the caller: %w", err)
	}
	if b == (Bounds{}) {
		return l.Engine.Submit(ctx, r)
	}
	if err := l.enter(r.Principal, b); err != nil {
		return "", err
	}
	id, err := l.Engine.Submit(ctx, r)
	if err != nil || b.Concurrency == 0 {
		l.leave(r.Principal)
		return id, err
	}
	l.watch.Go(func() {
		l.await(r.Principal, id)
		l.leave(r.Principal)
	})
	return id, nil
}

// Enter counts an execution that its principal's engine takes up after a human's yes, as
// one under way. It starts no second time, so the rate has no say. left is called once,
// when it is no longer under way. The error is a *[execution.RejectedError] when there are
// too many.
func (l *Limiter) Enter(p execution.Principal) (left func(), err error) {
	b, err := l.book.Bounds(p)
	if err != nil {
		return nil, fmt.Errorf("look up the bounds of the principal: %w", err)
	}
	if b.Concurrency == 0 {
		return func() {}, nil
	}
	if err := l.enter(p, Bounds{Concurrency: b.Concurrency}); err != nil {
		return nil, err
	}
	return func() { l.leave(p) }, nil
}

// enter counts one more execution, or says that it is too much.
func (l *Limiter) enter(p execution.Principal, b Bounds) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[p]
	if a == nil {
		a = &account{}
		l.accounts[p] = a
	}
	if b.Concurrency > 0 && a.underWay >= b.Concurrency {
		return &execution.RejectedError{
			Code: execution.CodeUnavailable, RetryAfter: roomAfter,
			Message: fmt.Sprintf("%d of your executions are under way, and not more than %d may be at once", a.underWay, b.Concurrency),
		}
	}
	if wait := a.due(b.Rate, l.now()); wait > 0 {
		return &execution.RejectedError{
			Code: execution.CodeUnavailable, RetryAfter: wait,
			Message: fmt.Sprintf("you may start %d executions a minute", b.Rate),
		}
	}
	a.underWay++
	return nil
}

// due is how long to wait for the next execution; 0 takes it.
func (a *account) due(perMinute int, now time.Time) time.Duration {
	if perMinute == 0 {
		return 0
	}
	if a.rate == nil || a.perMin != perMinute {
		a.perMin = perMinute
		a.rate = rate.NewLimiter(rate.Limit(float64(perMinute)/time.Minute.Seconds()), max(perMinute/burst, 1))
	}
	r := a.rate.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
		return time.Duration(math.Ceil(wait.Seconds())) * time.Second
	}
	return 0
}

func (l *Limiter) leave(p execution.Principal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts[p].underWay--
}

// await returns when an execution is no longer under way. One that waits for a human is
// not: nobody knows for how long. One whose program waits for one about a call still is.
func (l *Limiter) await(p execution.Principal, id execution.ID) {
	for l.root.Err() == nil {
		res, err := l.Engine.WaitUnlessAsked(l.root, p, id, watchTime)
		if err == nil && res.AsksWithin() {
			res, err = l.Engine.Wait(l.root, p, id, watchTime)
		}
		if err != nil || res.Status != execution.StatusRunning {
			return
		}
	}
}

// Close waits for nothing more and returns when all that was started has ended.
func (l *Limiter) Close() {
	l.stop()
	l.watch.Wait()
}
