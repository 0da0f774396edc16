package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	c       Config
	ctx     context.Context // of the work in the background; ends with Close
	stop    context.CancelFunc
	work    sync.WaitGroup

	// mu guards what follows, and every stock, source and child. Nothing slow is done
	// under it; it is given back by unlock. It is never held while the turns' is taken.
	mu      sync.Mutex
	stocks  map[sandbox.Template]*stock
	sources map[*source]struct{} // the open ones
	closed  bool
	live    int // children out, or being made for a caller
	parked  int
	doomed  []*child // to be killed after unlock
	calm    calm
	ticks   func() bool // stops the next look at idle sources; nil when none is due
	memory  memory
	counts  counts
	endings map[sandbox.Cause]uint64
}

// New makes a pool over a backend. Close ends it.
func New(b sandbox.Backend, c Config) *Pool {
	p := &Pool{
		backend: b, c: c.filled(),
		stocks: map[sandbox.Template]*stock{}, sources: map[*source]struct{}{}, endings: map[sandbox.Cause]uint64{},
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
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
	asked := p.c.Clock.Now()
	now := asked
	waited, err := p.c.Turns.take(ctx, p.ctx.Done(), who)
	if err != nil {
		return nil, nil, err
	}
	if waited {
		now = p.c.Clock.Now()
	}
	c, err := p.checkout(ctx, t, asked, now)
	if err != nil {
		p.c.Turns.give(who)
		return nil, nil, err
	}
	c.who = who
	return c, c.release, nil
}

// checkout takes a parked child, or has one made while the caller waits.
func (p *Pool) checkout(ctx context.Context, t sandbox.Template, asked, now time.Time) (*child, error) {
	p.mu.Lock()
	if p.closed {
		p.unlock()
		return nil, fmt.Errorf("take a child: %w", ErrClosed)
	}
	s := p.use(t, now)
	p.live++
	s.live++
	c := p.ready(s)
	if c != nil {
		p.counts.wait.observe(now.Sub(asked))
		p.counts.fromParked++
		p.postpone(now)
		p.unlock()
		return c, nil
	}
	s.pins++
	p.unlock()

	c, err := p.demand(ctx, s)
	now = p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	s.pins--
	if err != nil {
		p.live--
		s.live--
		p.rest(now)
		return nil, err
	}
	p.counts.wait.observe(now.Sub(asked))
	p.counts.onDemand++
	p.postpone(now)
	return c, nil
}

// demand gets a child for a caller who found none parked: one that was parked while a
// source was opened, or a new one.
func (p *Pool) demand(ctx context.Context, s *stock) (*child, error) {
	var err error
	for range attempts {
		var c *child
		if c, err = p.produce(ctx, s); err == nil || !errors.Is(err, sandbox.ErrSourceDead) {
			return c, err
		}
	}
	return nil, err
}

func (p *Pool) produce(ctx context.Context, s *stock) (*child, error) {
	c, src, err := p.find(ctx, s)
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
	return p.adopt(started, src, false), nil //nolint:contextcheck // the child outlives the call
}

// find waits until the stock has a child parked, or a source, of which it counts a use.
func (p *Pool) find(ctx context.Context, s *stock) (*child, *source, error) {
	if err := p.opened(ctx, s); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.unlock()
	if c := p.ready(s); c != nil {
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
		p.open(s) //nolint:contextcheck // the opening outlives the call
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
	s.pins--
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
