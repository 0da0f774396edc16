package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// watchEvery is how often questions are looked for.
const watchEvery = time.Second

func (a *app) watchCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "watch", Short: "Be asked on this terminal, as questions come", Args: noArguments,
		Long: "Put each question on this terminal as it comes, and take the answer, until you end it\nwith Ctrl-C. One that somebody else answers meanwhile is taken back. With --json each\nquestion is printed as a line instead, for a script that decides with approve and deny.",
		RunE: func(c *cobra.Command, _ []string) error {
			return withDecisions(c.Context(), o, func(_ sidecar.Records, d sidecar.Decisions) error {
				if asJSON {
					return watch(c.Context(), d, func(_ context.Context, r execution.Record) error { return a.printLine(shownQuestion(r)) })
				}
				t, err := openTerminal()
				if err != nil {
					return usage("--json prints the questions for a script; gearbox approvals list shows them", "%w", err)
				}
				defer t.close()
				a.sayf("Waiting for questions. Ctrl-C ends this.\n")
				return watch(c.Context(), d, func(ctx context.Context, r execution.Record) error { return a.put(ctx, t, d, r) })
			})
		},
	}
	addJSON(c, &asJSON)
	addDataDir(c, &o)
	c.Flags().SortFlags = false
	return c
}

// watch puts each question once, the oldest first, until ctx ends, which is no failure.
func watch(ctx context.Context, d sidecar.Decisions, put func(context.Context, execution.Record) error) error {
	seen := map[execution.Digest]bool{}
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		open, err := d.Open(ctx)
		now := map[execution.Digest]bool{}
		for _, r := range open {
			now[r.Approval.Hash] = true
			if err == nil && !seen[r.Approval.Hash] && ctx.Err() == nil {
				err = put(ctx, r)
			}
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whoever watched has seen enough
		}
		if err != nil {
			return failed(exitFailed, err)
		}
		seen = now
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// put asks one question and hands the answer in, again and again until an answer counts, or
// none is given, or another question stands.
func (a *app) put(ctx context.Context, t *terminal, d sidecar.Decisions, listed execution.Record) error {
	for {
		r, err := d.Find(ctx, listed.ID) // with its files
		if err != nil {
			return err
		}
		if r.State != execution.StatePending || r.Approval.Hash != listed.Approval.Hash {
			return nil
		}
		if over, err := a.putOnce(ctx, t, d, r); over || err != nil {
			return err
		}
	}
}

// putOnce is false when an answer was given that does not count. That is told.
func (a *app) putOnce(ctx context.Context, t *terminal, d sidecar.Decisions, r execution.Record) (over bool, err error) {
	decision, err := t.decide(ctx, d, r, true)
	switch {
	case errors.Is(err, errSkipped):
		a.notef("left open: %s", r.ID)
		return true, nil
	case errors.Is(err, errSettled):
		a.notef("no longer open: %s", r.ID)
		return true, nil
	case err != nil:
		return true, err
	}
	decision.Client = asClient("approvals watch")
	told, err := a.handIn(ctx, d, decision)
	var refused *approval.RefusedError
	switch {
	case errors.As(err, &refused):
		a.notef("refused (%s): %v", refused.Cause, refused)
		return false, nil
	case ctx.Err() != nil:
		return true, ctx.Err()
	case err != nil:
		a.notef("%v", err)
		return false, nil
	}
	return true, a.decided(decideFlags{}, decision, r, told)
}

// errSettled says that a question is over while it is being put.
var errSettled = errors.New("the question is over")

// decide shows a question and waits for the answer, as long as the question stands.
func (t *terminal) decide(ctx context.Context, d sidecar.Decisions, r execution.Record, skip bool) (approval.Decision, error) {
	ctx, settle := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer func() { settle(nil); <-done }()
	go func() {
		defer close(done)
		if over(ctx, d, r) {
			settle(errSettled)
		}
	}()
	t.show(d, r)
	return t.choose(ctx, r, skip)
}

// over waits until a question is answered or expired, or ctx ends.
func over(ctx context.Context, d sidecar.Decisions, r execution.Record) bool {
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
		now, err := d.Find(ctx, r.ID)
		if err == nil && (now.State != execution.StatePending || now.Approval.Hash != r.Approval.Hash || !time.Now().Before(now.Approval.Expires)) {
			return true
		}
	}
}
