package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// callers are the programs that wait for calls which are operations of their own, because
// a human is asked about them.
type callers struct {
	mu    sync.Mutex
	waits map[execution.ID]*waitingCall // by the operation of the call
	last  int
}

// waitingCall is one call that a program waits for. A nil one is that of no program.
type waitingCall struct {
	run     *operation
	patient time.Duration // how long a human may be asked
	resume  func()        // has the time of the run pass again; it may be called again

	id    execution.ID // these two are the callers'
	place int          // in the order in which they came

	mu       sync.Mutex // guards what follows
	stands   standsAt
	answered Answered
	err      error
}

// standsAt is how far a waiting call is.
type standsAt int

const (
	undecided standsAt = iota
	begun              // it is permitted, and what comes of it is waited for
	abandoned          // nobody waits for it, so that it must not be made
	settled            // there is something to tell the program
)

func (c *callers) add(id execution.ID, w *waitingCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits == nil {
		c.waits = map[execution.ID]*waitingCall{}
	}
	c.last++
	w.id, w.place = id, c.last
	c.waits[id] = w
}

// remove forgets a call, whether or not it was added.
func (c *callers) remove(w *waitingCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waits, w.id)
	w.run.open.remove(w.id)
}

// asks keeps the question that is put about a call, if a program waits for it.
func (c *callers) asks(id execution.ID, q *execution.Approval) {
	c.mu.Lock() // so that it is not put after the call was removed
	defer c.mu.Unlock()
	if w := c.waits[id]; w != nil {
		w.run.open.put(id, q)
	}
}

// askedNoMore is told that the answer to that is taken up, or that it was not put.
func (c *callers) askedNoMore(id execution.ID) {
	if w := c.of(id); w != nil {
		w.run.open.remove(id)
	}
}

// of is the call of a program that the operation is, nil when none waits for it.
func (c *callers) of(id execution.ID) *waitingCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits[id]
}

// asked are the operations of the calls that the program of a run waits for and that are
// not decided, in the order in which they came.
func (c *callers) asked(run execution.ID) []execution.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []execution.ID
	for id, w := range c.waits {
		if w.run.id == run && w.at(undecided) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b execution.ID) int { return c.waits[a].place - c.waits[b].place })
	return ids
}

// AskedBy are the operations of calls that the program of a run waits for, about which a
// human is asked or is about to be, in the order in which it made them.
func (e *Engine) AskedBy(run execution.ID) []execution.ID { return e.callers.asked(run) }

func (w *waitingCall) at(s standsAt) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stands == s
}

// patience is how long a human may be asked; 0 for as long as anybody else is.
func (w *waitingCall) patience() time.Duration {
	if w == nil {
		return 0
	}
	return w.patient
}

// begin has the time of the run pass again, because the call is about to be made. It is
// false when nobody waits for it any longer.
func (w *waitingCall) begin() bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stands == abandoned {
		return false
	}
	w.stands = begun
	w.resume()
	return true
}

// giveUp has the call not be made any more. It is false when that has begun, or it is
// known already what came of it.
func (w *waitingCall) giveUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stands == undecided {
		w.stands = abandoned
	}
	return w.stands == abandoned
}

// answer keeps what came of the call for the program, which learns it when the operation
// has ended and that is recorded.
func (w *waitingCall) answer(a Answered, err error) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stands, w.answered, w.err = settled, a, err
}

// outcome is that; it is false when there is none.
func (w *waitingCall) outcome() (a Answered, err error, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered, w.err, w.stands == settled
}
