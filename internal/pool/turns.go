package pool

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// mostPerCore: a run is half waiting (for the kernel to build it, for the program's
// own pauses), so two keep a core busy.
const mostPerCore = 2

// ErrClosed is wrapped by what a closed pool answers.
var ErrClosed = errors.New("pool: closed")

// Turns say who may have a child at work, over all pools that share them.
//
// At most Most children are at work, whoever asked. Callers beyond that wait: the
// principals are served in turn, the callers of one in the order in which they came.
// A principal may have all places when nobody else wants one. So that one who takes
// them all makes nobody else wait, a principal with nothing at work begins at once
// even then, and one with a single child may begin a second, because the child that
// has given its answer holds its place until the kernel has taken it apart. Such
// places beyond Most are themselves bounded: no more than twice Most are ever taken,
// and second children get no more than half of the extra ones.
//
// Turns are safe for concurrent use.
type Turns struct {
	each int

	mu       sync.Mutex // guards what follows
	most     int
	busy     int
	resting  int
	accounts map[execution.Principal]*account // those that have or want a place
	waiting  []*account                       // those with callers who wait, next one first
	queued   int
}

// account is what one principal has and wants.
type account struct {
	busy    int
	resting int
	queue   []*waiter
}

// turn tells of a place that was taken.
type turn struct {
	waited bool
	greedy bool // the principal has more than half of the places
}

// waiter is one caller. Its ready is closed when it has a place.
type waiter struct {
	ready   chan struct{}
	turn    turn
	granted bool
}

// NewTurns makes turns for most children at work, 0 for two per core, of which one
// principal may have each, 0 for as many as there are.
func NewTurns(most, each int) *Turns {
	if most <= 0 {
		most = mostPerCore * runtime.NumCPU()
	}
	return &Turns{each: each, most: most, accounts: map[execution.Principal]*account{}}
}

// Most is how many children may be at work when none of them is an extra one.
func (t *Turns) Most() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most
}

// SetMost changes how many children may be at work, 0 for two per core. Those that are
// at work beyond that stay; callers who may begin now do.
func (t *Turns) SetMost(most int) {
	if most <= 0 {
		most = mostPerCore * runtime.NumCPU()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most = most
	t.serve()
}

// take waits for a place until ctx ends or closed is closed.
func (t *Turns) take(ctx context.Context, closed <-chan struct{}, who execution.Principal) (turn, error) {
	got, w := t.ask(who)
	if w == nil {
		return got, nil
	}
	var err error
	select {
	case <-w.ready:
		return w.turn, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closed:
		err = ErrClosed
	}
	t.leave(who, w)
	return turn{}, err
}

// ask takes a place at once, or joins the queue.
func (t *Turns) ask(who execution.Principal) (turn, *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.accounts[who]
	if a == nil {
		a = &account{}
		t.accounts[who] = a
	}
	// Whoever waits has no room: so nobody is overtaken here.
	if t.room(a) {
		return t.grant(a), nil
	}
	w := &waiter{ready: make(chan struct{})}
	if len(a.queue) == 0 {
		t.waiting = append(t.waiting, a)
	}
	a.queue = append(a.queue, w)
	t.queued++
	return turn{}, w
}

// grant gives the account a place. The mutex is held.
func (t *Turns) grant(a *account) turn {
	a.busy++
	t.busy++
	return turn{greedy: 2*a.busy > t.most}
}

// room reports whether another child of the account may be at work. The mutex is held.
func (t *Turns) room(a *account) bool {
	extra := t.busy - t.most
	switch {
	case t.each > 0 && a.busy >= t.each:
		return false
	case extra < 0:
		return true
	case a.busy == 0:
		return extra < t.most
	case a.busy == 1:
		return extra < t.most/2
	default:
		return false
	}
}

// give returns a place, which goes to the next who may have it.
func (t *Turns) give(who execution.Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accounts[who].busy--
	t.busy--
	t.serve()
	t.forget(who)
}

// serve hands out places as long as somebody who waits may have one. The mutex is held.
func (t *Turns) serve() {
	for {
		i := slices.IndexFunc(t.waiting, t.room)
		if i < 0 {
			return
		}
		a := t.waiting[i]
		t.waiting = slices.Delete(t.waiting, i, i+1)
		w := a.queue[0]
		a.queue = slices.Delete(a.queue, 0, 1)
		if len(a.queue) > 0 {
			t.waiting = append(t.waiting, a) // behind the others
		}
		t.queued--
		w.turn, w.granted = t.grant(a), true
		w.turn.waited = true
		close(w.ready)
	}
}

// leave gives up waiting, or the place that was granted meanwhile.
func (t *Turns) leave(who execution.Principal, w *waiter) {
	t.mu.Lock()
	if w.granted {
		t.mu.Unlock()
		t.give(who)
		return
	}
	defer t.mu.Unlock()
	a := t.accounts[who]
	a.queue = slices.DeleteFunc(a.queue, func(o *waiter) bool { return o == w })
	if len(a.queue) == 0 {
		t.waiting = slices.DeleteFunc(t.waiting, func(o *account) bool { return o == a })
	}
	t.queued--
	t.forget(who)
}

// forget drops the account of a principal who has and wants nothing. The mutex is held.
func (t *Turns) forget(who execution.Principal) {
	if a := t.accounts[who]; a.busy == 0 && a.resting == 0 && len(a.queue) == 0 {
		delete(t.accounts, who)
	}
}

// waits is how many callers wait.
func (t *Turns) waits() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queued
}
