package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// defaultMaxPause is that of [Config.MaxPause].
const defaultMaxPause = 10 * time.Minute

// askWithin has a human asked about a call of a program that runs, and waits for what comes
// of it. The call is an operation of its own: the rules that are in force now decide on it,
// and every way to a human serves it.
func (e *Engine) askWithin(op *operation, one *call, p Prepared) (Answered, error) {
	ctx := one.ctx
	left := e.mostPause() - op.watch.pausedFor()
	if left <= 0 {
		return Answered{}, unapproved(p, "This run has waited for humans for as long as it may.")
	}
	source, err := execution.Call{Tool: p.ID(), Arguments: p.Arguments, Run: op.id}.Source()
	if err != nil {
		return Answered{}, unapproved(p, "A human would have to approve it, and the arguments are too long to be shown to one: pass less.")
	}
	wake, ok := op.rest()
	if !ok {
		return Answered{}, unapproved(p, "A human would have to approve it, and too many runs wait for one already: try again later.")
	}
	goOn := one.pause()
	resume := func() { goOn(); wake() }
	defer resume()
	w := &waitingCall{run: op, patient: left, resume: resume}
	defer e.callers.remove(w)
	id, err := e.submit(ctx, execution.Request{
		Principal: op.request.Principal, Client: op.request.Client, Gear: op.request.Gear, Language: execution.Tool, Code: source,
	}, func(id execution.ID) { e.callers.add(id, w) })
	if rejected, ok := errors.AsType[*execution.RejectedError](err); ok {
		return Answered{}, unapproved(p, "A human would have to approve it, and none could be asked: "+rejected.Message+".")
	}
	if err != nil {
		return Answered{}, fmt.Errorf("ask about a call: %w", err)
	}
	res, err := e.settled(ctx, op.request.Principal, id, w)
	if err != nil {
		return Answered{}, err
	}
	if a, failed, known := w.outcome(); known {
		return a, failed
	}
	return Answered{}, unapproved(p, whyNot(res))
}

func (e *Engine) mostPause() time.Duration {
	if most := e.c.MaxPause(); most > 0 {
		return most
	}
	return defaultMaxPause
}

// settled waits for the end of a call about which a human is asked. When nobody has decided
// in time, or ctx ends since nobody waits for it, the question is withdrawn; one that is
// being made by then ends with ctx alone.
func (e *Engine) settled(ctx context.Context, p execution.Principal, id execution.ID, w *waitingCall) (execution.Result, error) {
	until := e.c.Clock.Now().Add(w.patient)
	for {
		res, err := e.Wait(ctx, p, id, max(mostLook, until.Sub(e.c.Clock.Now())))
		if err != nil || res.Status.Final() {
			return res, err
		}
		late := !e.c.Clock.Now().Before(until) && w.giveUp()
		if late || ctx.Err() != nil {
			w.giveUp()
			return e.Cancel(context.WithoutCancel(ctx), p, id)
		}
	}
}

// whyNot is what a program is told of a call that was not made.
func whyNot(r execution.Result) string {
	switch {
	case r.Status == execution.StatusCancelled:
		return "Nobody decided in time, or the question was withdrawn."
	case r.Status == execution.StatusDenied:
		return r.Stderr
	}
	return "It ended as " + string(r.Status) + ": " + r.Stderr
}

func unapproved(p Prepared, why string) *tool.Error {
	return p.failed(tool.Unapproved, p.ID()+" was not called. "+why)
}

// rests is the standing still of one run. It begins with the first of its calls that waits
// for a human, and ends when none does any longer.
type rests struct {
	mu   sync.Mutex
	n    int // calls that wait
	wake func()
}

// rest has the run stand still and lends its place to others until resume is called, which
// may be called again. It is false when too many rest.
func (op *operation) rest() (resume func(), ok bool) {
	r := &op.resting
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		if r.wake, ok = lend(op.seat); !ok {
			return nil, false
		}
	}
	r.n++
	goOn := op.watch.pause()
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.n--; r.n == 0 {
			r.wake()
		}
		goOn()
	}), true
}

// lend lends the place of a child that can do without.
func lend(s *seat) (wake func(), ok bool) {
	if r, can := s.child.(Resting); can {
		return r.Rest()
	}
	return func() {}, true
}
