package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	return toEnd(ctx, e, p, id)
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
