package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// source is one that is open, possibly no longer the one that its stock makes
// children with. The pool's mutex guards it.
type source struct {
	sandbox.Source
	stock  *stock
	opened time.Time
	made   int // children
	uses   int // children that are not dead yet, or are being made
	weak   bool

	failures int       // to make a child, since the last one that was made
	retired  time.Time // when it was replaced: it is closed when its last child is dead
	dead     bool
	closing  bool
}

// begin counts a child that is about to be made. The mutex is held.
func (src *source) begin() {
	src.uses++
	src.made++
}

// ended reports whether the source ended, perhaps before the pool has taken note.
func (src *source) ended() bool {
	select {
	case <-src.Done():
		return true
	default:
		return false
	}
}

// opening is one attempt to open a source. Its done is closed once err is set and the
// source, if there is one, is the stock's.
type opening struct {
	done chan struct{}
	err  error
}

// open begins to open a source, which outlives the caller who asked first: others wait
// for it too. The stock's present source, if there is one, serves until then. The mutex
// is held and the pool is not closed.
func (p *Pool) open(s *stock) {
	o := &opening{done: make(chan struct{})}
	s.opening = o
	p.work.Go(func() {
		defer close(o.done)
		opened, first, err := p.begin(s.template)
		o.err = p.install(s, opened, first, err)
		if o.err != nil && opened != nil {
			_ = opened.Close()
		}
	})
}

// begin opens a source and makes a first child: several systems let a fork server start
// and then refuse what its children need.
func (p *Pool) begin(t sandbox.Template) (sandbox.Source, sandbox.Child, error) {
	opened, err := p.backend.Open(p.ctx, t)
	if err != nil {
		return nil, nil, err
	}
	first, err := opened.Start(p.ctx, false)
	if err != nil {
		return nil, nil, errors.Join(err, opened.Close())
	}
	return opened, first, nil
}

// install ends an attempt to open a source: children are made with it from now on.
func (p *Pool) install(s *stock, opened sandbox.Source, first sandbox.Child, err error) error {
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	s.opening = nil
	defer p.outmoded(s)
	switch {
	case p.closed:
		return fmt.Errorf("open a source: %w", ErrClosed)
	case err != nil:
		s.openings.fail(now)
		if s.source != nil {
			p.c.Logger.Warn("a source could not be replaced", "error", err)
		}
		return err
	}
	src := &source{Source: opened, stock: s, opened: now, weak: !p.strong(opened.Level())}
	src.begin()
	p.sources[src] = struct{}{}
	s.counts.opened++
	p.work.Go(func() { p.watch(src) })
	if old := s.source; old != nil {
		s.counts.recycled++
		p.retire(old)
	}
	s.source = src
	s.births.clear()
	p.park(s, p.adopt(first, src, false))
	p.postpone(s, now)
	p.rest(now)
	return nil
}

func (p *Pool) strong(l execution.Level) bool { return p.c.Least == "" || l.AtLeast(p.c.Least) }

// watch waits for a source's end.
func (p *Pool) watch(src *source) {
	<-src.Done()
	p.mu.Lock()
	defer p.unlock()
	p.lost(src)
}

// lost takes note of a source that ended by itself: what is parked of it is dead, and
// another one is opened. The mutex is held.
func (p *Pool) lost(src *source) {
	if src.dead || src.closing || p.closed {
		return
	}
	src.dead = true
	src.stock.counts.lost++
	p.close(src) // only lets go of what it held
	s := src.stock
	for i, c := range slices.Backward(s.parked) {
		if c.from == src {
			p.drop(s, i)
		}
	}
	if s.source != src {
		return
	}
	s.source = nil
	now := p.c.Clock.Now()
	p.c.Logger.Warn("a source has ended", "after", now.Sub(src.opened), "children", src.made)
	if now.Sub(src.opened) >= steady {
		s.openings.clear()
	}
	s.openings.fail(now)
	p.reopen(s, now)
}

// reopen opens a source that somebody waits for, or is likely to want soon unless it
// keeps ending. The mutex is held.
func (p *Pool) reopen(s *stock, now time.Time) {
	likely := s.wanted && !s.idle && s.openings.over(now)
	if !p.closed && s.source == nil && s.opening == nil && (s.pins > 0 || likely) {
		p.open(s)
	}
}

// close releases a source. The mutex is held.
func (p *Pool) close(src *source) {
	if src.closing || p.closed { // Close closes them all
		return
	}
	src.closing = true
	p.work.Go(func() {
		err := src.Close()
		if err != nil {
			p.c.Logger.Warn("a source did not close well", "error", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.sources, src)
	})
}

// retire closes a source as soon as its last child is dead. No more are made with it.
// The mutex is held.
func (p *Pool) retire(src *source) {
	src.retired = p.c.Clock.Now()
	if src.uses == 0 {
		p.close(src)
	}
}

// finish counts a child that is dead or was never born. The mutex is held.
func (p *Pool) finish(src *source) {
	src.uses--
	if !src.retired.IsZero() && src.uses == 0 {
		p.close(src)
	}
}

// failed takes note that a source did not make a child, which may have been because ctx
// ended. The mutex is held.
func (p *Pool) failed(ctx context.Context, src *source, err error) {
	p.finish(src)
	if ctx.Err() == nil {
		src.failures++
	}
	if errors.Is(err, sandbox.ErrSourceDead) {
		p.lost(src)
	}
}

// lingers reports whether a source that was replaced has waited for its last child for
// too long.
func (src *source) lingers(now time.Time) bool {
	return !src.retired.IsZero() && now.Sub(src.retired) >= maxLinger
}
