package engine

import (
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// callers are the programs that wait for calls which are operations of their own, because
// a human is asked about them.
type callers struct {
	mu   sync.Mutex
	runs map[execution.ID]*pausedCall // by the operation of the call
}

// pausedCall is one call that a program waits for. A nil one is nobody's.
type pausedCall struct {
	within   time.Duration // how long the run may still wait
	answered Answered
	err      error
}

func (c *callers) add(id execution.ID, p *pausedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[execution.ID]*pausedCall{}
	}
	c.runs[id] = p
}

func (c *callers) remove(id execution.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.runs, id)
}

// of is the call of a program that the operation is, nil when none waits for it.
func (c *callers) of(id execution.ID) *pausedCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[id]
}

// patience is how long a human may be asked; 0 for as long as anybody else is.
func (p *pausedCall) patience() time.Duration {
	if p == nil {
		return 0
	}
	return p.within
}

// answer keeps what came of the call for the program, which reads it when the operation
// has ended.
func (p *pausedCall) answer(a Answered, err error) {
	if p != nil {
		p.answered, p.err = a, err
	}
}
