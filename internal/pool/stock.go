package pool

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// stock is what the pool has of one template. The pool's mutex guards it.
type stock struct {
	template sandbox.Template
	source   *source  // nil while none is open
	opening  *opening // nil while none is being opened
	parked   []*child // oldest first
	target   int      // how many are wanted parked

	live   int       // children out, or being made for a caller
	pins   int       // callers who wait for a source or a child
	used   time.Time // when a child was last asked for; before that, when the stock was made
	wanted bool      // somebody has asked for a child
	idle   bool      // nobody has for a while

	refilling bool
	births    backoff // of making and keeping children in the background
	openings  backoff // of opening sources

	counts *counts // of the template's kind
}

// child is one child from its birth to its end.
type child struct {
	sandbox.Child
	pool  *Pool
	from  *source
	warm  bool // it was warmed up
	state state
	who   execution.Principal // of a child that is out
}

// state is where a child is.
type state int

const (
	out state = iota // in a caller's hands, or not parked yet
	parked
	dropped  // ended by the pool, or with its source
	released // given back
)

// stock finds or makes what is had of a template. The mutex is held.
func (p *Pool) stock(t sandbox.Template, now time.Time) *stock {
	if by, old := p.replaced[t.Interpreter]; old {
		t.Interpreter = by
	}
	s := p.stocks[t]
	if s == nil {
		p.makeRoom()
		s = &stock{template: t, used: now, counts: p.countsOf(t)}
		p.stocks[t] = s
		p.retarget()
		p.tickLater()
	}
	return s
}

// use is stock for a caller who wants a child. The mutex is held.
func (p *Pool) use(t sandbox.Template, now time.Time) *stock {
	s := p.stock(t, now)
	s.used = now
	if !s.wanted || s.idle {
		s.wanted, s.idle = true, false
		p.retarget()
	}
	return s
}

// makeRoom gives the stock up that nobody has used for longest, when there are too
// many. Those that are in use stay, so that there may be more for a while. The mutex
// is held.
func (p *Pool) makeRoom() {
	for len(p.stocks) >= maxSources {
		oldest := p.byUse()
		i := slices.IndexFunc(oldest, (*stock).unused)
		if i < 0 {
			return
		}
		p.giveUp(oldest[i])
	}
}

// unpin ends the wait of a caller. The mutex is held.
func (p *Pool) unpin(s *stock) {
	s.pins--
	p.outmoded(s)
}

// unused reports whether nobody has or awaits anything of s.
func (s *stock) unused() bool { return s.live == 0 && s.pins == 0 && s.opening == nil }

// byUse are the stocks, the one that was used longest ago first. The mutex is held.
func (p *Pool) byUse() []*stock {
	return slices.SortedFunc(maps.Values(p.stocks), func(a, b *stock) int { return a.used.Compare(b.used) })
}

// Replace has an interpreter stand in for another one from now on, whichever a caller still
// names: one may have looked it up a moment ago. What is kept of the old one is let go:
// parked children at once, a source when its last child is dead.
func (p *Pool) Replace(old, by execution.Digest) {
	p.mu.Lock()
	defer p.unlock()
	p.replaced[old] = by
	for _, s := range p.stocks {
		p.outmoded(s)
	}
}

// outmoded gives a stock up whose interpreter was replaced, unless somebody waits for what
// it has. The mutex is held.
func (p *Pool) outmoded(s *stock) {
	_, old := p.replaced[s.template.Interpreter]
	if old && p.stocks[s.template] == s && s.pins == 0 && s.opening == nil {
		p.giveUp(s)
	}
}

// giveUp ends what is parked of a stock, and its source with it. The mutex is held.
func (p *Pool) giveUp(s *stock) {
	delete(p.stocks, s.template)
	for len(s.parked) > 0 {
		p.drop(s, 0)
	}
	if s.source != nil {
		p.retire(s.source)
		s.source = nil
	}
	p.retarget()
}

// retarget says how many children each stock shall have parked: none when memory is
// short; one as long as its source is kept; and those in use evenly what is left,
// up to the size. What is too much is let go. The mutex is held.
func (p *Pool) retarget() {
	stocks := p.byUse()
	slices.Reverse(stocks)
	budget := p.c.MaxParked
	if p.memory.short {
		budget = 0
	}
	for _, s := range stocks {
		s.target = min(1, budget)
		budget -= s.target
	}
	for more := true; more && budget > 0; {
		more = false
		for _, s := range stocks {
			if s.wanted && !s.idle && s.target < p.c.Size && budget > 0 {
				s.target++
				budget--
				more = true
			}
		}
	}
	for _, s := range stocks {
		p.trim(s)
	}
}

// scarce reports whether no more than half of what is wanted is parked.
func (s *stock) scarce() bool { return 2*len(s.parked) <= s.target }

// ready takes a parked child whose source has not ended a moment ago; nil when there is
// none. The mutex is held.
func (p *Pool) ready(s *stock) *child {
	for {
		c := s.pop()
		if c == nil || !c.from.ended() {
			return c
		}
		c.state = dropped
		p.lost(c.from)
	}
}

// pop takes the child that will serve best: a warm one before a cold one, and of those
// the oldest. It is nil when none is parked. The mutex is held.
func (s *stock) pop() *child {
	if len(s.parked) == 0 {
		return nil
	}
	c := s.take(max(0, slices.IndexFunc(s.parked, func(c *child) bool { return c.warm })))
	s.births.clear()
	return c
}

// take removes a parked child.
func (s *stock) take(i int) *child {
	c := s.parked[i]
	s.parked = slices.Delete(s.parked, i, i+1)
	c.pool.parked--
	c.state = out
	return c
}

// park keeps a child for later, or lets one go when there are enough. The mutex is held.
func (p *Pool) park(s *stock, c *child) {
	s.parked = append(s.parked, c)
	p.parked++
	c.state = parked
	switch {
	case c.from.dead, c.from.weak, p.stocks[s.template] != s:
		p.drop(s, len(s.parked)-1)
	default:
		p.trim(s)
	}
}

// trim lets the least useful children go until there are no more than wanted. The
// mutex is held.
func (p *Pool) trim(s *stock) {
	for len(s.parked) > s.target {
		s.counts.letGo++
		p.drop(s, max(0, slices.IndexFunc(s.parked, s.stale)))
	}
}

// stale reports whether another child would serve better than c.
func (s *stock) stale(c *child) bool { return !c.warm || c.from != s.source }

// drop ends a parked child. The mutex is held.
func (p *Pool) drop(s *stock, i int) {
	c := s.take(i)
	c.state = dropped
	p.doomed = append(p.doomed, c)
}

// adopt takes a child on that a source has made, and follows it to its end. The mutex
// is held and the pool is not closed.
func (p *Pool) adopt(started sandbox.Child, from *source, warm bool) *child {
	from.failures = 0
	c := &child{Child: started, pool: p, from: from, warm: warm}
	p.work.Go(func() { p.follow(c) })
	return c
}

// Wait implements [sandbox.Child]. When the source has ended, the pool knows it before
// the caller does, who then may ask for another child.
func (c *child) Wait(ctx context.Context) (sandbox.Ended, error) {
	ended, err := c.Child.Wait(ctx)
	if errors.Is(err, sandbox.ErrSourceDead) {
		c.pool.mu.Lock()
		defer c.pool.unlock()
		c.pool.lost(c.from)
	}
	return ended, err
}

// follow waits for a child's end. A parked one that dies must not be handed out.
func (p *Pool) follow(c *child) {
	ended, err := c.Wait(p.patient)
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	switch c.state {
	case out, released:
		c.from.stock.counts.endings[ended.Cause]++
	case parked:
		if !p.closed {
			p.bury(c, now)
			p.c.Logger.Warn("a parked child died", "error", err)
		}
		p.finish(c.from)
	case dropped:
		p.finish(c.from)
	}
}

// bury forgets a parked child that is dead. The mutex is held.
func (p *Pool) bury(c *child, now time.Time) {
	s := c.from.stock
	s.take(slices.Index(s.parked, c))
	s.births.fail(now)
	s.counts.died++
	p.postpone(s, now)
}

// release gives the place of a child back. What it says again is not heard.
func (c *child) release() {
	p, s := c.pool, c.from.stock
	now := p.c.Clock.Now()
	p.mu.Lock()
	if c.state == released {
		p.unlock()
		return
	}
	c.state = released
	p.live--
	s.live--
	p.finish(c.from)
	p.rest(now)
	p.unlock()
	p.c.Turns.give(c.who)
}

// name is how a cause of an end is told.
func name(c sandbox.Cause) string { return cmp.Or(string(c), "exited") }
