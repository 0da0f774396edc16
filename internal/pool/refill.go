package pool

import (
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// company is whether several principals use the pool. The pool's mutex guards it.
type company struct {
	last    execution.Principal
	changed time.Time // when somebody else than before had a child
}

func (c *company) meet(who execution.Principal, now time.Time) {
	if c.last != who && c.last != "" {
		c.changed = now
	}
	c.last = who
}

// kept reports whether it was so within the time.
func (c *company) kept(now time.Time, within time.Duration) bool {
	return !c.changed.IsZero() && now.Sub(c.changed) < within
}

// calm says when children may be made in the background while others are at work: some
// time after the last checkout, and some longer time after the first one that has put
// it off. The pool's mutex guards it.
type calm struct {
	due   time.Time
	limit time.Time   // zero when nothing is put off
	stop  func() bool // stops the timer; nil when none is set
}

// postpone puts off what is made in the background, because somebody's program begins
// now. What is put off once more is put off for the last time when the stock runs low.
// The mutex is held.
func (p *Pool) postpone(s *stock, now time.Time) {
	c := &p.calm
	c.due = now.Add(quiet)
	switch {
	case c.limit.IsZero():
		c.limit = now.Add(maxQuiet)
	case s.scarce():
		c.limit = earlier(c.limit, c.due)
	}
	c.due = earlier(c.due, c.limit)
	p.alarm(now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// alarm sees to it that the pool wakes up when the wait is over. A timer that is too
// early finds that out by itself, so that it is not set anew by each checkout.
func (p *Pool) alarm(now time.Time) {
	if p.calm.stop == nil && !p.closed {
		p.calm.stop = p.c.Clock.AfterFunc(p.calm.due.Sub(now), p.wake)
	}
}

func (p *Pool) wake() {
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	p.calm.stop = nil
	if p.restless(now) {
		p.alarm(now)
		return
	}
	p.refill(now)
}

// restless reports whether somebody's program began a moment ago.
func (p *Pool) restless(now time.Time) bool { return p.live > 0 && now.Before(p.calm.due) }

// rest begins at once with what was put off, when nothing is at work any more. The
// mutex is held.
func (p *Pool) rest(now time.Time) {
	if p.live == 0 {
		p.refill(now)
	}
}

// refill begins to make the children that are missing, one after the other for each
// stock, and to replace old sources. The mutex is held.
func (p *Pool) refill(now time.Time) {
	if p.closed {
		return
	}
	busy := false
	for _, s := range p.stocks {
		if p.worn(s, now) {
			p.open(s)
		}
		if ok, _ := p.lacks(s, now); ok && !s.refilling {
			s.refilling = true
			p.work.Go(func() { p.fill(s) })
		}
		busy = busy || s.refilling
	}
	if !busy {
		p.calm.limit = time.Time{}
	}
}

// lacks reports whether a child shall be made to be parked, and whether warm. Where
// less than half is parked they are made quickly, without warming up; when there are
// enough, those that are cold or of an old source are replaced. The mutex is held.
func (p *Pool) lacks(s *stock, now time.Time) (lacks, warm bool) {
	n := len(s.parked)
	switch {
	case p.c.Sparing, !s.wanted, s.target == 0, !s.births.over(now), p.stocks[s.template] != s:
		return false, false
	case s.source == nil, s.source.weak, s.source.failures >= maxFailures:
		return false, false
	case n < s.target:
		return true, 2*n >= s.target
	default:
		return s.outdated(p.live == 0), true
	}
}

// outdated reports whether a parked child comes of an old source or, where that counts
// too, is cold.
func (s *stock) outdated(cold bool) bool {
	for _, c := range s.parked {
		if c.from != s.source || cold && !c.warm {
			return true
		}
	}
	return false
}

// fill makes children until the stock is full, one at a time, or programs begin.
func (p *Pool) fill(s *stock) {
	p.feel()
	for p.fillOne(s) {
	}
}

func (p *Pool) fillOne(s *stock) bool {
	src, warm := p.beginOne(s)
	if src == nil {
		return false
	}
	started, err := src.Start(p.ctx, warm)
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	switch {
	case p.closed:
		return false
	case err != nil:
		p.failed(p.ctx, src, err)
		s.births.fail(now)
		p.c.Logger.Warn("a child could not be made in advance", "error", err)
		return true // and it is seen whether to go on
	}
	s.counts.refills++
	if warm {
		s.counts.warmed++
	}
	p.park(s, p.adopt(started, src, warm))
	return true
}

// beginOne is the source to make the next child with, nil when none shall be made now.
func (p *Pool) beginOne(s *stock) (*source, bool) {
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	lacks, warm := p.lacks(s, now)
	if !lacks {
		p.calm.limit = time.Time{}
	}
	if !lacks || p.closed || p.restless(now) {
		s.refilling = false
		return nil, false
	}
	s.source.begin()
	return s.source, warm
}
