package pool

import "time"

// memory is what is known of the machine's. The pool's mutex guards it.
type memory struct {
	short bool
	asked time.Time
}

// feelEvery is how old the knowledge of the memory may be before children are parked.
const feelEvery = time.Second

// feel asks whether memory is short, if nobody did for a while. When it becomes so all
// parked children are let go.
func (p *Pool) feel() {
	now := p.c.Clock.Now()
	p.mu.Lock()
	if now.Sub(p.memory.asked) < feelEvery {
		p.unlock()
		return
	}
	p.memory.asked = now
	p.unlock()
	short := p.c.Pressure() // reads files
	p.mu.Lock()
	defer p.unlock()
	if short == p.memory.short {
		return
	}
	p.memory.short = short
	if short {
		p.c.Logger.Warn("memory is short: no children are kept ready", "let_go", p.parked)
	} else {
		p.c.Logger.Info("there is enough memory again: children are kept ready")
	}
	p.retarget()
}

// tickLater sees to it that the sources are looked at. The mutex is held.
func (p *Pool) tickLater() {
	if p.ticks == nil && !p.closed && len(p.stocks) > 0 {
		p.ticks = p.c.Clock.AfterFunc(tickEvery, p.tick)
	}
}

// tick shrinks what is idle, replaces what is old and tries again what has failed.
func (p *Pool) tick() {
	p.feel()
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	p.ticks = nil
	if p.closed {
		return
	}
	for _, s := range p.byUse() {
		p.age(s, now)
	}
	for src := range p.sources {
		if src.lingers(now) {
			p.close(src)
		}
	}
	if !p.restless(now) {
		p.refill(now)
	}
	p.tickLater()
}

// age is what time does to a stock. The mutex is held.
func (p *Pool) age(s *stock, now time.Time) {
	unused := now.Sub(s.used)
	switch {
	case unused >= p.c.CloseAfter && s.unused():
		p.giveUp(s)
		return
	case unused >= p.c.IdleAfter && !s.idle && s.live == 0:
		s.idle = true
		p.retarget()
	}
	p.reopen(s, now)
}

// worn reports whether a source shall be replaced: it is old, or has worked much, or may
// be stuck. The mutex is held.
func (p *Pool) worn(s *stock, now time.Time) bool {
	src := s.source
	if src == nil || s.opening != nil || !s.wanted || s.idle || p.memory.short || !s.openings.over(now) {
		return false
	}
	return now.Sub(src.opened) >= p.c.MaxAge || src.made >= p.c.MaxMade || src.failures >= maxFailures
}
