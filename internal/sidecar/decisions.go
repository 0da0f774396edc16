package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/instance"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// Decisions are the questions of a data directory and the answers to them: what every
// channel to a human has. It is safe for concurrent use, in any number of processes.
type Decisions struct {
	*approval.Desk

	guard   *credential.File
	dataDir string
	journal telemetry.Journal
}

// newDecisions has what is decided recorded in a journal of the data directory.
func newDecisions(j maskedQuestions, g *credential.File, dataDir string) Decisions {
	return Decisions{approval.NewDesk(j, g, time.Now), g, dataDir, j.Journal}
}

// Credential is what each decision needs beside the question, see [approval.Decision].
func (d Decisions) Credential() (credential.Kind, error) { return d.guard.Kind() }

// Decisions are those of the records. No server has to run for them.
func (r Records) Decisions() (Decisions, error) {
	masks, err := logging.NewRedactor(logging.Rules{})
	if err != nil {
		return Decisions{}, err
	}
	return newDecisions(maskedQuestions{telemetry.Redacted(r.SQLite, masks), r.SQLite}, r.guard, r.dataDir), nil
}

// Decisions are those of the data directory of this process.
func (s *Sidecar) Decisions() Decisions {
	return newDecisions(maskedQuestions{s.journal, s.records}, s.guard, s.places.dataDir)
}

// maskedQuestions reads questions where they are, and writes through a journal that masks.
type maskedQuestions struct {
	telemetry.Journal
	questions
}

// questions are what journals do not have: operations of every principal.
type questions interface {
	Waiting(ctx context.Context) ([]execution.Record, error)
	Find(ctx context.Context, id execution.ID) (execution.Record, error)
}

// Told is what came of telling the servers of a decision.
type Told struct {
	// Missed say which servers could not be told, and why. An operation that was approved
	// is taken up all the same, since its server looks every second; rules count there
	// after a SIGHUP or a restart.
	Missed []string
	// Unheard tells that no server of the data directory lives: what was approved runs when
	// one starts.
	Unheard bool
}

// Decide gives an answer, once, and tells the servers of the data directory. An answer
// that does not count is an [approval.RefusedError]. With the scope always the rules of
// [Lasting] are added to the operator's rules file.
//
// The order of that: the new file is written beside the old one and read as a server
// would, then the answer is committed, then the file is renamed into place. So nothing is
// widened without an answer that is on record and counts, and an answer is not given when
// the rules could not be written; what may fail between the two is one rename, and then the
// approved operation runs, the like is asked about again, and the error says so. Servers
// that take the operation up before they know the rules find the answer to its question,
// and later ones find that the rules allow it.
func (d Decisions) Decide(ctx context.Context, c approval.Decision) (Told, error) {
	if err := d.admitted(ctx); err != nil {
		return Told{}, err
	}
	if err := d.bury(ctx, c); err != nil {
		return Told{}, err
	}
	always := c.Verdict == execution.Approved && c.Scope == execution.Always
	if !always {
		if err := d.Desk.Decide(ctx, c); err != nil {
			return Told{}, err
		}
		return d.tell(ctx, false), nil
	}
	if err := d.always(ctx, c); err != nil {
		return Told{}, err
	}
	return d.tell(ctx, true), nil
}

// bury finishes the run that a call belongs to if its server is dead, so that the desk
// knows that nobody waits for the call any longer.
func (d Decisions) bury(ctx context.Context, c approval.Decision) error {
	r, err := d.Find(ctx, c.Operation)
	if err != nil {
		return nil //nolint:nilerr // the desk refuses it, and records that
	}
	others := elsewhere{d.dataDir, slog.New(slog.DiscardHandler)}
	if call, ok := execution.CallOf(r.Request); !ok || call.Run == "" || others.Alive(r.Instance) {
		return nil
	}
	return finishDeserted(ctx, d.journal, others)
}

func (d Decisions) always(ctx context.Context, c approval.Decision) error {
	r, err := d.Find(ctx, c.Operation)
	if err != nil {
		return d.Desk.Decide(ctx, c) // which refuses it, and records that
	}
	rules, err := Lasting(r.Approval)
	if err != nil {
		return d.Refuse(ctx, c, &approval.RefusedError{Cause: approval.Malformed, Field: "scope", Message: err.Error()})
	}
	reached := false
	err = withRules(ctx, d.dataDir, rules, func() error {
		reached = true
		return d.Desk.Decide(ctx, c)
	})
	if err != nil && !reached {
		return fmt.Errorf("nothing was decided: %w", err)
	}
	return err
}

// Lasting are the rules that the answer "always" to a question writes: each allows exactly
// one permission that was asked about. The error says which of them has no such rule.
func Lasting(q *execution.Approval) ([]string, error) {
	var rules []string
	seen := map[string]bool{}
	for _, one := range q.Asked {
		if one.Allow == "" {
			return nil, fmt.Errorf("%s cannot be allowed for good: no rule that could be added would allow exactly this; approve it once", one)
		}
		if err := exact(one); err != nil {
			return nil, err
		}
		if !seen[one.Allow] {
			seen[one.Allow] = true
			rules = append(rules, one.Allow)
		}
	}
	return rules, nil
}

// All are the last questions, open or not, the oldest first; at most so many.
func (r Records) All(ctx context.Context, most int) ([]execution.Record, error) {
	all, err := r.Asked(ctx, most)
	if err != nil {
		return nil, fmt.Errorf("list the questions: %w", err)
	}
	return all, nil
}

// RulesFile is where the answer "always" writes rules.
func (d Decisions) RulesFile() string { return filepath.Join(d.dataDir, rulesFile) }

// askingTime bounds what one server is waited for: it answers at once, or is stopped. To
// take up rules it may have to withdraw very many questions.
const (
	askingTime = time.Second
	rulesTime  = 10 * time.Second
)

// admitted asks the servers of the data directory whether this process may decide here at
// all: they refuse who is of another user namespace, as a program in a sandbox or a
// container is that the data directory was mounted into. Where none runs the permissions of
// the files are what is left.
func (d Decisions) admitted(ctx context.Context) error {
	var refusals []error
	_, errs := d.each(ctx, wake{})
	for _, err := range errs {
		if errors.Is(err, instance.ErrRefused) {
			refusals = append(refusals, err)
		}
	}
	return errors.Join(refusals...)
}

// tell wakes every server; with rules also to read those anew.
func (d Decisions) tell(ctx context.Context, rules bool) Told {
	var t Told
	servers, errs := d.each(context.WithoutCancel(ctx), wake{Rules: rules})
	t.Unheard = servers == 0 && len(errs) == 0
	for _, err := range errs {
		t.Missed = append(t.Missed, err.Error())
	}
	return t
}

// each sends the same to every living process of the data directory at once, and tells how
// many of them are servers. Those that are gone meanwhile are no error.
func (d Decisions) each(ctx context.Context, w wake) (servers int, errs []error) {
	all, err := instance.Live(d.dataDir)
	if err != nil {
		return 0, []error{err}
	}
	most := askingTime
	if w.Rules {
		most = rulesTime
	}
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range all {
		wg.Go(func() {
			var who woken
			err := m.Post(ctx, approvedPath, w, &who)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && who.Serves:
				servers++
			case err != nil && !errors.Is(err, instance.ErrGone):
				errs = append(errs, fmt.Errorf("the server %s: %w", m.ID, err))
			}
		})
	}
	wg.Wait()
	return servers, errs
}
