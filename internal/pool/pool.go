package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// attempts is how often a child is asked for when sources die under it: more than
// once can be bad luck, more than twice is a fault that will not go away by itself.
const attempts = 2

// Pool is safe for concurrent use.
type Pool struct {
	backend sandbox.Backend
	c       Config          // mu guards the numbers that [Pool.Adjust] changes; the rest stays
	ctx     context.Context // of the work in the background; ends with Close
	stop    context.CancelFunc
	patient context.Context // of waiting for children to end, which they do
	work    sync.WaitGroup

	// mu guards what follows, and every stock, source and child. Nothing slow is done
	// under it; it is given back by unlock. It is never held while the turns' is taken.
	mu     sync.Mutex
	stocks map[sandbox.Template]*stock
	// replaced are interpreters for which others stand in.
	replaced map[execution.Digest]execution.Digest
	sources  map[*source]struct{} // the open ones
	closed   bool
	live     int // children out, or being made for a caller
	parked   int
	doomed   []*child // to be killed after unlock
	calm     calm
	company  company
	ticks    func() bool // stops the next look at idle sources; nil when none is due
	memory   memory
	kinds    map[Kind]*counts
}

// New makes a pool over a backend. Close ends it.
func New(b sandbox.Backend, c Config) *Pool {
	p := &Pool{
		backend: b, c: c.filled(),
		stocks: map[sandbox.Template]*stock{}, replaced: map[execution.Digest]execution.Digest{},
		sources: map[*source]struct{}{}, kinds: map[Kind]*counts{},
	}
	p.patient = context.Background()
	p.ctx, p.stop = context.WithCancel(p.patient)
	return p
}

// unlock gives mu back and ends the children that were dropped meanwhile.
func (p *Pool) unlock() {
	doomed := p.doomed
	p.doomed = nil
	p.mu.Unlock()
	for _, c := range doomed {
		c.Kill(sandbox.CauseAbandoned)
	}
}

// Child waits for a turn of the principal and returns a parked child of the template,
// or makes one. The caller kills it, waits for its end, and calls release once. A child
// that dies with its source before any is had is asked for once more, of a new source.
//
// The error is ctx's, wraps [ErrClosed] or [sandbox.ErrSourceDead], or is the
// backend's own.
func (p *Pool) Child(ctx context.Context, t sandbox.Template, who execution.Principal) (sandbox.Child, func(), error) {
	return p.child(ctx, t, who, 0)
}

// Late is a pool for one caller who has waited already, as for [Pool.Level]. Its methods
// may be called concurrently.
type Late struct {
	pool   *Pool
	waited atomic.Int64 // nanoseconds that are not told yet
}

// After is the pool for a caller who has waited for so long.
func (p *Pool) After(waited time.Duration) *Late {
	l := &Late{pool: p}
	l.waited.Store(int64(waited))
	return l
}

// Child is [Pool.Child]. The wait for the first one is counted with the one before.
func (l *Late) Child(ctx context.Context, t sandbox.Template, who execution.Principal) (sandbox.Child, func(), error) {
	return l.pool.child(ctx, t, who, time.Duration(l.waited.Swap(0)))
}

func (p *Pool) child(ctx context.Context, t sandbox.Template, who execution.Principal, waited time.Duration) (sandbox.Child, func(), error) {
	now := p.c.Clock.Now()
	asked := now.Add(-waited)
	turn, err := p.c.Turns.take(ctx, p.ctx.Done(), who)
	if err != nil {
		return nil, nil, err
	}
	if turn.waited {
		now = p.c.Clock.Now()
	}
	c, err := p.checkout(ctx, t, order{who, turn.greedy, asked, now})
	if err != nil {
		p.c.Turns.give(who)
		return nil, nil, err
	}
	c.who = who
	return c, c.release, nil
}

// order is one caller's wish.
type order struct {
	who        execution.Principal
	greedy     bool      // who has more than half of the places
	asked, now time.Time // now is when its turn has come
}

// checkout takes a parked child, or has one made while the caller waits.
func (p *Pool) checkout(ctx context.Context, t sandbox.Template, o order) (*child, error) {
	p.mu.Lock()
	if p.closed {
		p.unlock()
		return nil, fmt.Errorf("take a child: %w", ErrClosed)
	}
	s := p.use(t, o.now)
	p.live++
	s.live++
	p.company.meet(o.who, o.now)
	if c := p.reach(s, o); c != nil {
		s.counts.wait.observe(o.now.Sub(o.asked))
		s.counts.fromParked++
		p.postpone(s, o.now)
		p.unlock()
		return c, nil
	}
	s.pins++
	p.unlock()

	c, err := p.demand(ctx, s, o)
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	p.unpin(s)
	if err != nil {
		p.live--
		s.live--
		p.rest(now)
		return nil, err
	}
	s.counts.wait.observe(now.Sub(o.asked))
	s.counts.onDemand++
	p.postpone(s, now)
	return c, nil
}

// reach is the parked child that a caller may have; nil when there is none. The mutex is
// held.
func (p *Pool) reach(s *stock, o order) *child {
	if o.greedy && s.scarce() && p.company.kept(o.now, p.c.IdleAfter) {
		return nil
	}
	return p.ready(s)
}

// demand gets a child for a caller who found none parked: one that was parked while a
// source was opened, or a new one.
func (p *Pool) demand(ctx context.Context, s *stock, o order) (*child, error) {
	var err error
	for range attempts {
		var c *child
		if c, err = p.produce(ctx, s, o); err == nil || !errors.Is(err, sandbox.ErrSourceDead) {
			return c, err
		}
	}
	return nil, err
}

func (p *Pool) produce(ctx context.Context, s *stock, o order) (*child, error) {
	c, src, err := p.find(ctx, s, o)
	if c != nil || err != nil {
		return c, err
	}
	started, err := src.Start(ctx, false)
	p.mu.Lock()
	defer p.unlock()
	switch {
	case err != nil:
		p.failed(ctx, src, err)
		return nil, err
	case p.closed: // and the child ends with its source
		return nil, fmt.Errorf("make a child: %w", ErrClosed)
	}
	return p.adopt(started, src, false), nil
}

// find waits until the stock has a child parked, or a source, of which it counts a use.
func (p *Pool) find(ctx context.Context, s *stock, o order) (*child, *source, error) {
	if err := p.opened(ctx, s); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.unlock()
	if c := p.reach(s, o); c != nil {
		return c, nil, nil
	}
	switch {
	case s.source == nil:
		return nil, nil, fmt.Errorf("it ended as soon as it was opened: %w", sandbox.ErrSourceDead)
	case s.source.weak:
		return nil, nil, fmt.Errorf("the sandbox isolates at level %s, below the minimum of %s", s.source.Level(), p.c.Least)
	}
	s.source.begin()
	return nil, s.source, nil
}

// opened waits until the stock has a source, or one could not be opened. The caller
// holds a pin.
func (p *Pool) opened(ctx context.Context, s *stock) error {
	p.mu.Lock()
	if p.closed {
		p.unlock()
		return fmt.Errorf("open a source: %w", ErrClosed)
	}
	if s.source != nil {
		p.unlock()
		return nil
	}
	if s.opening == nil {
		p.open(s)
	}
	o := s.opening
	p.unlock()
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Level opens the template's source, if it is not open yet, and tells how strong
// the wall around its children is. An error means that none can be made.
func (p *Pool) Level(ctx context.Context, t sandbox.Template) (execution.Level, error) {
	p.mu.Lock()
	if p.closed {
		p.unlock()
		return "", fmt.Errorf("open a source: %w", ErrClosed)
	}
	s := p.stock(t, p.c.Clock.Now())
	if s.source != nil {
		defer p.unlock()
		return s.source.Level(), nil
	}
	s.pins++
	p.unlock()
	err := p.opened(ctx, s)
	p.mu.Lock()
	defer p.unlock()
	defer p.unpin(s)
	switch {
	case err != nil:
		return "", err
	case s.source == nil:
		return "", fmt.Errorf("it ended as soon as it was opened: %w", sandbox.ErrSourceDead)
	}
	return s.source.Level(), nil
}

// Close ends every child and closes every source. Whoever waits gets [ErrClosed].
// Nothing that the pool started is left when it returns.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	var open []*source
	for src := range p.sources {
		open = append(open, src)
	}
	stops := []func() bool{p.ticks, p.calm.stop}
	p.unlock()
	p.stop()
	for _, stop := range stops {
		if stop != nil {
			stop()
		}
	}
	var errs []error
	for _, src := range open {
		errs = append(errs, src.Close())
	}
	p.work.Wait()
	return errors.Join(errs...)
}
