//go:build unix

package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

// ruled is a gear under rules that can be changed.
type ruled struct {
	mu    sync.Mutex // guards what follows
	rules gear.Overlays
}

// Freeze implements [engine.Gears].
func (r *ruled) Freeze(execution.Principal, string) (gear.Frozen, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := gear.OpenRegistry("").Get("user_confirmed")
	if err != nil {
		return gear.Frozen{}, err
	}
	return gear.Freeze(g, nil, nil, r.rules)
}

func (r *ruled) set(o gear.Overlays) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = o
}

// underRules is a bench whose rules change as a server has it.
func underRules(t *testing.T) (b *bench, change func(allow, deny string)) {
	t.Helper()
	b = newBench(t, benchConfig{patience: time.Hour})
	rules := &ruled{}
	b.config.Gears = rules
	b.engine = b.another(t)
	return b, func(allow, deny string) {
		t.Helper()
		o, err := gear.ParseOverlays(strings.Fields(allow), nil, strings.Fields(deny))
		if err != nil {
			t.Fatal(err)
		}
		next := &ruled{rules: o}
		open, err := b.desk().Open(t.Context())
		if err == nil {
			err = b.engine.Outdate(t.Context(), open, next)
		}
		if err != nil {
			t.Fatal(err)
		}
		rules.set(o)
	}
}

// refuses expects that a decision does not count.
func (b *bench) refuses(d approval.Decision, want approval.Cause, says string) {
	b.t.Helper()
	var e *approval.RefusedError
	if err := b.desk().Decide(b.t.Context(), d); !errors.As(err, &e) || e.Cause != want || !strings.Contains(e.Message, says) {
		b.t.Errorf("want it refused as %s: %v", want, err)
	}
}

// verdicts are what was decided about questions, in order.
func (b *bench) verdicts() (all []string) {
	for _, e := range b.events.all() {
		if e.Type == audit.Approval {
			all = append(all, e.Decision)
		}
	}
	return all
}

func TestWhatChangedRulesAllowRunsWithoutAnAnswer(t *testing.T) {
	b, change := underRules(t)
	id, q := b.pending(asking)
	change("run(mount)", "")
	b.refuses(yes(id, q), approval.Stale, "the rules changed")
	if open, err := b.desk().Open(t.Context()); err != nil || len(open) > 0 {
		t.Errorf("it is still put: %+v, %v", open, err)
	}
	if b.resume() != 1 {
		t.Fatal("it was not taken up")
	}
	if r := b.wait(id); r.Status != execution.StatusOK || r.Stdout != "ran\n" {
		t.Errorf("%+v", r)
	}
	if a := b.question(id).Answer; a == nil || a.Verdict != execution.Approved || a.By != execution.ByRules {
		t.Errorf("answered with %+v", a)
	}
	b.refuses(yes(id, q), approval.Decided, execution.ByRules)
	if got := b.verdicts(); !slices.Equal(got, []string{"ask", "withdrawn", "refused", "approved", "refused"}) {
		t.Errorf("recorded %q", got)
	}
}

func TestWhatChangedRulesDenyIsDeniedWithoutAnAnswer(t *testing.T) {
	b, change := underRules(t)
	id, q := b.pending(asking)
	change("", "run(mount)")
	if b.resume() != 1 {
		t.Fatal("it was not taken up")
	}
	if r := b.wait(id); r.Status != execution.StatusDenied || r.Error.Violations[0].Permission != "run(mount)" || b.count(audit.Started) != 0 {
		t.Errorf("%+v", r)
	}
	if a := b.question(id).Answer; a == nil || a.Verdict != execution.Refused || a.By != execution.ByRules {
		t.Errorf("answered with %+v", a)
	}
	b.refuses(yes(id, q), approval.Decided, execution.ByRules)
}

func TestWhatChangedRulesStillAskAboutIsAskedAnewUntilTheSameTime(t *testing.T) {
	b, change := underRules(t)
	id, q := b.pending(asking)
	change("run(git)", "")
	if b.resume() != 1 {
		t.Fatal("it was not taken up")
	}
	if r := b.until(id, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval }); r.ExpiresAt != q.Expires.Format(time.RFC3339) {
		t.Errorf("%+v", r)
	}
	now := b.question(id)
	if now.Hash == q.Hash || now.Again != execution.AgainRules || !now.Expires.Equal(q.Expires) || q.Again != "" {
		t.Fatalf("%+v after %+v", now, q)
	}
	b.refuses(yes(id, q), approval.Stale, now.Hash.String())
	// The same rules as at first have no question with the first hash.
	change("", "")
	if b.resume() != 1 {
		t.Fatal("it was not taken up a second time")
	}
	b.until(id, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval })
	b.refuses(yes(id, q), approval.Stale, "the rules changed")
	b.approve(id)
	if b.resume() != 1 {
		t.Fatal("a yes to the new question does not count")
	}
	if r := b.wait(id); r.Status != execution.StatusOK || b.count(audit.Started) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestRulesThatSayTheSameLeaveAQuestionAsItIs(t *testing.T) {
	b, change := underRules(t)
	id, q := b.pending(asking)
	change("", "")
	if b.resume() != 0 || b.state(id) != execution.StatePending {
		t.Errorf("it is %s", b.state(id))
	}
	if err := b.desk().Decide(t.Context(), yes(id, q)); err != nil {
		t.Error(err)
	}
}

// What another process asks is decided by the rules of that one.
func TestRulesOfAnotherProcessLeaveAQuestionAsItIs(t *testing.T) {
	b, change := underRules(t)
	b.config.Instance = "another"
	other := b.another(t)
	mine := b.engine
	b.engine = other
	id, _ := b.pending(asking)
	b.engine = mine
	change("run(git)", "")
	if b.state(id) != execution.StatePending {
		t.Errorf("it is %s", b.state(id))
	}
}

func TestAYesThatComesWhileTheRulesChangeIsRefusedAsStale(t *testing.T) {
	b, change := underRules(t)
	id, q := b.pending(asking)
	desk := approval.NewDesk(&interposed{Memory: b.journal, before: func() { change("run(git)", "") }}, trusting{}, b.clock.Now)
	var e *approval.RefusedError
	if err := desk.Decide(t.Context(), yes(id, q)); !errors.As(err, &e) || e.Cause != approval.Stale {
		t.Errorf("%v", err)
	}
	if b.state(id) != execution.StateStale {
		t.Errorf("it is %s", b.state(id))
	}
}

// The rules change after a program was decided about and before its question is there.
func TestAQuestionThatTheRulesOvertakeAsItIsPutIsWithdrawn(t *testing.T) {
	b, change := underRules(t)
	b.config.Journal = &disturbed{Journal: b.journal, to: execution.StatePending, before: func() { change("run(mount)", "") }}
	b.engine = b.another(t)
	id := b.submit(execution.Request{Code: asking})
	b.until(id, func(execution.Result) bool { return b.state(id) == execution.StateStale })
	if b.resume() != 1 {
		t.Fatal("it was not taken up")
	}
	if r := b.wait(id); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
}

func TestAServerThatStopsWhileItDecidesAnewLeavesItToTheNext(t *testing.T) {
	b, change := underRules(t)
	id, _ := b.pending(asking)
	change("run(mount)", "")
	var stopping *engine.Engine
	b.config.Journal = &disturbed{Journal: b.journal, to: execution.StateResumed, before: func() { stopping.Shut() }}
	stopping = b.another(t)
	if _, err := stopping.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopping.Close()
	if b.state(id) == execution.StateFinished {
		t.Fatalf("it ended as %+v", b.wait(id))
	}
	b.config.Journal = b.journal
	b.engine = b.another(t)
	if b.resume() != 1 {
		t.Fatal("the next one does not take it up")
	}
	if r := b.wait(id); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
}

// interposed is a journal in which something happens just before an answer is written.
type interposed struct {
	*storetest.Memory

	before func()
	once   sync.Once
}

func (i *interposed) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	i.once.Do(i.before)
	return i.Memory.Commit(ctx, id, from, to, c, events...)
}
