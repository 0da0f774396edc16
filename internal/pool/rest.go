package pool

import (
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// restingPerPlace bounds how many children may rest for each that may be at work: they
// need no processor, and keep their memory.
const restingPerPlace = 4

// Rest lends the child's place to others until wake is called, once: its program does
// nothing but wait for a human. It is false when too many rest already. After wake there
// may be more at work than places for a while.
func (c *child) Rest() (wake func(), ok bool) { return c.pool.c.Turns.rest(c.who) }

func (t *Turns) rest(who execution.Principal) (wake func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.resting >= restingPerPlace*t.most {
		return nil, false
	}
	t.resting++
	t.accounts[who].resting++
	t.accounts[who].busy--
	t.busy--
	t.serve()
	return sync.OnceFunc(func() { t.wake(who) }), true
}

func (t *Turns) wake(who execution.Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resting--
	t.accounts[who].resting--
	t.accounts[who].busy++
	t.busy++
}
