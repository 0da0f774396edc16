package pool

// Adjust changes the numbers of a pool that is in use: Size, MaxParked, IdleAfter,
// CloseAfter, MaxMade and MaxAge, zero values for their defaults. The rest of c says
// nothing. What is parked beyond the new numbers is let go, what is missing is made. How
// many children may be at work is for [Turns.SetMost], which comes first, since defaults
// follow it.
func (p *Pool) Adjust(c Config) {
	c.Turns = p.c.Turns
	c = c.filled()
	now := p.c.Clock.Now()
	p.mu.Lock()
	defer p.unlock()
	p.c.Size, p.c.MaxParked = c.Size, c.MaxParked
	p.c.IdleAfter, p.c.CloseAfter = c.IdleAfter, c.CloseAfter
	p.c.MaxMade, p.c.MaxAge = c.MaxMade, c.MaxAge
	p.retarget()
	if !p.restless(now) {
		p.refill(now)
	}
}
