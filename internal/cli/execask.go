package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// asker asks on the terminal of a command about what it runs itself.
type asker struct {
	app      *app
	terminal *terminal
	sidecar  *sidecar.Sidecar
	command  string // in whose name decisions are recorded
}

// terminalOf is where a command may ask: on the terminal of a person who reads what it
// says. Whoever reads JSON is a program.
func (a *app) terminalOf(json bool) *terminal {
	if json || !isTerminal(a.Err) {
		return nil
	}
	t, err := openTerminal()
	if err != nil {
		return nil
	}
	return t
}

// askEvery is how soon a call of a program that runs is asked about.
const askEvery = 100 * time.Millisecond

// run is [runToEnd] that asks, before the program starts and when it calls tools.
func (k *asker) run(ctx context.Context, r execution.Request) (execution.Result, error) {
	id, err := k.sidecar.Engine().Submit(ctx, r)
	if err != nil {
		return execution.Result{}, err
	}
	result, err := k.toEnd(ctx, r.Principal, id)
	for err == nil && result.Status == execution.StatusPendingApproval {
		result, err = k.settle(ctx, r.Principal, id)
	}
	return result, err
}

// toEnd is [toEnd] that asks about the calls of the program meanwhile. What the program
// prints is shown when it has ended, and not between the questions.
func (k *asker) toEnd(ctx context.Context, p execution.Principal, id execution.ID) (execution.Result, error) {
	e := k.sidecar.Engine()
	for {
		result, err := e.Wait(ctx, p, id, askEvery)
		settled := result.Status.Final() || result.Status == execution.StatusPendingApproval
		if err == nil && settled {
			return result, nil
		}
		if ctx.Err() != nil {
			return cancel(ctx, e, p, id)
		}
		if err != nil {
			return execution.Result{}, err
		}
		for _, call := range e.AskedBy(id) {
			if err := k.settleCall(ctx, p, call); err != nil && ctx.Err() == nil {
				return execution.Result{}, errors.Join(err, k.giveUp(ctx, p, id))
			}
		}
	}
}

// giveUp ends a run whose calls nobody can be asked about.
func (k *asker) giveUp(ctx context.Context, p execution.Principal, id execution.ID) error {
	_, err := cancel(ctx, k.sidecar.Engine(), p, id)
	return err
}

// settleCall puts the question about a call of a program, if it stands, and has the answer
// to it taken up, whoever gave it.
func (k *asker) settleCall(ctx context.Context, p execution.Principal, id execution.ID) error {
	r, err := k.sidecar.Decisions().Find(ctx, id)
	var early *approval.RefusedError
	switch {
	case errors.As(err, &early):
		return nil // it is about to be asked about
	case err != nil:
		return err
	case r.State == execution.StatePending:
		_, err = k.settle(ctx, p, id)
	case r.State.Waits():
		_, err = k.takeUp(ctx, p, id)
	}
	return err
}

// settle puts the question about an operation and follows the answer to the end of the
// operation, or to the next question.
func (k *asker) settle(ctx context.Context, p execution.Principal, id execution.ID) (execution.Result, error) {
	e, d := k.sidecar.Engine(), k.sidecar.Decisions()
	r, err := d.Find(ctx, id)
	if err != nil {
		return execution.Result{}, err
	}
	decision, err := k.terminal.decide(ctx, d, r, false)
	switch {
	case errors.Is(err, errSettled): // somebody decided elsewhere, or nobody in time
	case errors.Is(err, errSkipped):
		return e.Cancel(context.WithoutCancel(ctx), p, id)
	case err != nil:
		return cancel(ctx, e, p, id)
	default:
		decision.Client = asClient(k.command)
		told, err := k.app.handIn(ctx, d, decision)
		if err != nil {
			k.app.notef("%v", err) // the question stands, or is over: the operation knows
			break
		}
		k.app.wrote(decision, r, told)
	}
	stands, err := k.takeUp(ctx, p, id)
	switch {
	case err != nil && ctx.Err() != nil:
		return cancel(ctx, e, p, id)
	case err != nil:
		return execution.Result{}, err
	case stands:
		return e.Wait(ctx, p, id, 0)
	}
	return k.toEnd(ctx, p, id)
}

// takeUp takes the operation up once there is a place for it, unless a question stands.
func (k *asker) takeUp(ctx context.Context, p execution.Principal, id execution.ID) (stands bool, err error) {
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		r, err := k.sidecar.Decisions().Find(ctx, id)
		if err != nil {
			return false, err
		}
		if r.State == execution.StatePending && time.Now().Before(r.Approval.Expires) {
			return true, nil
		}
		taken, err := k.sidecar.Engine().ResumeOne(ctx, p, id)
		if err != nil {
			return false, fmt.Errorf("take up %s: %w", id, err)
		}
		if taken {
			return false, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
