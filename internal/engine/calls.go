package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// maxLookups bounds the questions of a run that call no tool: for names, searches,
// descriptions. They cost nobody else anything, but they cost.
const maxLookups = 1000

// callLimit is the class of the error of a call that is one too many.
const callLimit = "CallLimitExceeded"

// answerer answers one call. It returns when the context of that ends: then nobody is left
// to hear it, or its time is over.
type answerer func(*call) (bridge.AnswerHead, []byte)

// calls are the tool calls of one run: what is due, and what was made. take belongs to
// the goroutine that reads the bridge.
type calls struct {
	conn  bridge.Conn
	to    answerer
	gear  string
	clock Clock
	limit int

	ctx    context.Context // ends when the program can read no answer any more
	cancel context.CancelFunc
	work   sync.WaitGroup
	// room bounds the answers that a program has not read, beside the calls that are due:
	// one that reads none is not read from either.
	room chan struct{}

	mu             sync.Mutex // guards what follows
	due            map[uint32]*call
	held           int // bytes of arguments of those that are due
	made, lookedUp int
	ledger         ledger
}

// call is one call that is not answered yet.
type call struct {
	id     uint32
	head   bridge.CallHead
	body   []byte
	size   int // of what is held for it, in bytes
	entry  int // in the ledger
	ctx    context.Context
	cancel context.CancelFunc
	watch  *stopwatch // of the time that the program gave it; nil when it gave none
}

func (e *Engine) callsOf(op *operation, conn bridge.Conn) *calls {
	c := &calls{
		conn: conn, to: e.answerTo(op), gear: op.gear.Name(), clock: e.c.Clock, limit: op.limits.ToolCalls,
		room: make(chan struct{}, 2*bridge.MaxCalls), due: map[uint32]*call{},
	}
	c.ctx, c.cancel = context.WithCancel(op.ctx)
	return c
}

// take answers one call frame, beside the reading of the next. The error is that of a
// program that breaks the protocol.
func (c *calls) take(f bridge.Frame) error {
	head, body, err := bridge.ReadCall(f)
	if err != nil {
		return err
	}
	select {
	case c.room <- struct{}{}:
	case <-c.ctx.Done():
		return nil // the next read tells
	}
	one, refusal, err := c.admit(&call{id: f.ID, head: head, body: body, size: len(f.Body)})
	if one == nil {
		defer func() { <-c.room }()
		if refusal != nil {
			c.write(f.ID, bridge.AnswerHead{Error: refusal}, nil)
		}
		return err
	}
	c.work.Go(func() {
		defer func() { <-c.room }()
		c.answer(one)
	})
	return nil
}

// giveUp cancels a call, if it is due.
func (c *calls) giveUp(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one, due := c.due[id]; due {
		one.cancel()
	}
}

// admit makes a call due and returns it, or tells why it is refused.
func (c *calls) admit(one *call) (*call, *bridge.CallError, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.due[one.id]; used {
		return nil, nil, fmt.Errorf("%w: a call with the id %d, whose answer is due", bridge.ErrProtocol, one.id)
	}
	calls := one.head.Want == bridge.WantCall || one.head.Want == bridge.WantRead
	if calls {
		one.entry = c.ledger.open(one.head)
	}
	if why := c.tooMany(calls, one.size); why != "" {
		refusal := &bridge.CallError{Class: callLimit, Message: why, Server: one.head.Server, Tool: one.head.Tool}
		c.ledger.close(one.entry, 0, refusal)
		return nil, refusal, nil
	}
	if calls {
		c.made++
	} else {
		c.lookedUp++
	}
	one.begin(c.ctx, c.clock)
	c.due[one.id] = one
	c.held += one.size
	return one, nil, nil
}

// tooMany tells which bound one more call would exceed. The mutex is held.
func (c *calls) tooMany(calls bool, size int) string {
	switch {
	case calls && c.made >= c.limit:
		return fmt.Sprintf("this run has made %d tool calls, which is all that the gear %s lets a run make (limits.tool_calls). Do with fewer, or split the work over several runs; the operator can raise the limit", c.made, c.gear)
	case !calls && c.lookedUp >= maxLookups:
		return fmt.Sprintf("this run has looked tools up %d times, which is all that a run may: keep what was found", c.lookedUp)
	case len(c.due) >= bridge.MaxCalls:
		return fmt.Sprintf("%d calls of this run are under way, which is all that a run may have at once: wait for some before making more", len(c.due))
	case c.held+size > bridge.MaxArgumentsDue:
		return fmt.Sprintf("the arguments of the calls under way would be over %v together: wait for some before making more", execution.Bytes(bridge.MaxArgumentsDue))
	}
	return ""
}

// answer has one call answered. Its id is free before the program can have read that.
func (c *calls) answer(one *call) {
	defer one.end()
	began := c.clock.Now()
	answer, value := c.to(one)
	if size := len(value); size > maxAnswer {
		answer, value = tooLarge(one.head, size), nil
	}
	c.mu.Lock()
	if took := c.clock.Now().Sub(began); one.ctx.Err() == nil || one.late() {
		c.ledger.close(one.entry, took, answer.Error)
	} else {
		c.ledger.giveUp(one.entry, took) // nobody learns how it went
	}
	c.held -= one.size
	delete(c.due, one.id)
	c.mu.Unlock()
	c.write(one.id, answer, value)
}

// maxAnswer bounds a value, in bytes, so that a frame holds it with its head.
const maxAnswer = bridge.DefaultMaxFrame - 1<<20

func tooLarge(head bridge.CallHead, size int) bridge.AnswerHead {
	return bridge.AnswerHead{Error: &bridge.CallError{
		Class: "ToolError", Server: head.Server, Tool: head.Tool,
		Message: fmt.Sprintf("the answer has %d bytes, and a program can be given %v at once: ask the tool for less", size, execution.Bytes(maxAnswer)),
	}}
}

// write sends an answer. A program that has gone needs none.
func (c *calls) write(id uint32, answer bridge.AnswerHead, value []byte) {
	f, err := bridge.NewFrame(bridge.Call, id, answer, value)
	if err == nil && len(f.Head)+len(f.Body)+4 > bridge.DefaultMaxFrame {
		// Only lists of very many parts are that long.
		f, err = bridge.NewFrame(bridge.Call, id, tooLarge(bridge.CallHead{}, len(f.Head)), nil)
	}
	if err == nil {
		_ = c.conn.WriteFrame(f)
	}
}

// stop cancels the calls that are due: the program has ended, or cannot be answered.
func (c *calls) stop() { c.cancel() }

// end waits until nothing of the calls is left. The program has stopped by now, so that
// nobody reads what is still being written.
func (c *calls) end() ledger {
	c.cancel()
	if len(c.room) > 0 {
		_ = c.conn.Close()
	}
	c.work.Wait()
	return c.ledger
}
