package engine

import (
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// A place in the queue is memory: the request, and a goroutine that waits for a child. How
// many children are at work, and so how many sources are looked at at once, is for those
// who hand them out. What turns out to need a human gives child and place back. What was
// approved has places of its own, as many and shared alike: new requests never keep it
// out, and for a child both wait in one line.

// admit makes the operation known, unless there is no room for it. Every
// admitted operation counts as work until it is done.
func (e *Engine) admit(op *operation) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return &execution.RejectedError{Code: execution.CodeUnavailable, Message: "the server is shutting down"}
	}
	if e.full(op.request.Principal, op.approval != nil) {
		return &execution.RejectedError{
			Code:       execution.CodeUnavailable,
			Message:    fmt.Sprintf("%d executions are running or waiting already", len(e.live)),
			RetryAfter: retryAfter,
		}
	}
	e.live[op.id] = op
	e.work.Add(1)
	return nil
}

// full reports whether there is no room for another operation of the principal: a new one,
// or one that was approved. The mutex is held.
func (e *Engine) full(p execution.Principal, approved bool) bool {
	queue := int(e.queue.Load())
	if len(e.live) < queue {
		return false
	}
	n, held := 0, map[execution.Principal]int{p: 0}
	for _, op := range e.live {
		if (op.approval != nil) == approved {
			held[op.request.Principal]++
			n++
		}
	}
	if n < queue || n >= 2*queue {
		return n >= queue
	}
	return held[p] >= share(queue, len(held))
}

// share is how many operations one of that many principals may hold while more are
// there than the queue takes. The one more by which it is divided is for who comes next.
func share(queue, principals int) int { return max(1, queue/(principals+1)) }

// room reports whether admit would take up an approved operation of the principal now.
func (e *Engine) room(p execution.Principal) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.closed && !e.full(p, true)
}

// forget lets go of an operation. One that waited for a human may be here again already.
func (e *Engine) forget(op *operation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live[op.id] == op {
		delete(e.live, op.id)
	}
}
