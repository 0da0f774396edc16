//go:build unix

package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// asking is a program that needs a yes to start another one.
const asking = "import subprocess\nsubprocess.run(['mount', '--version'], capture_output=True)\nprint('ran')"

// trusting asks for no credential.
type trusting struct{}

func (trusting) Check(context.Context, string) error { return nil }

func (b *bench) desk() *approval.Desk { return approval.NewDesk(b.journal, trusting{}, b.clock.Now) }

// pending submits a program about which a human is asked.
func (b *bench) pending(code string) (execution.ID, *execution.Approval) {
	b.t.Helper()
	id := b.submit(execution.Request{Code: code})
	r := b.until(id, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval })
	if r.ExitCode != -1 || r.Summary == "" || len(r.Permissions) == 0 || r.ApproveHint == "" || r.ExpiresAt == "" {
		b.t.Fatalf("%+v", r)
	}
	return id, b.question(id)
}

func (b *bench) question(id execution.ID) *execution.Approval {
	b.t.Helper()
	rec, err := b.desk().Find(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return rec.Approval
}

func yes(id execution.ID, q *execution.Approval) approval.Decision {
	return approval.Decision{Operation: id, Hash: q.Hash, Verdict: execution.Approved, By: "a test"}
}

func (b *bench) resume() int {
	b.t.Helper()
	n, err := b.engine.Resume(b.t.Context())
	if err != nil {
		b.t.Error(err)
	}
	return n
}

func TestWhatNeedsAYesWaitsForItAndThenRuns(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	if q.Asked[0].String() != "run(mount)" || q.Asked[0].Line != 2 || q.Asked[0].Source != strings.Split(asking, "\n")[1] || q.Asked[0].Allow != "run(mount)" {
		t.Errorf("%+v", q)
	}
	if b.resume() != 0 {
		t.Error("it was taken up without a yes")
	}
	if err := b.desk().Decide(t.Context(), yes(id, q)); err != nil {
		t.Fatal(err)
	}
	if b.resume() != 1 || b.resume() != 0 {
		t.Error("it was not taken up once")
	}
	if r := b.wait(id); r.Status != execution.StatusOK || r.Stdout != "ran\n" {
		t.Errorf("%+v", r)
	}
	want := []audit.Type{audit.Requested, audit.Decided, audit.Decided, audit.Approval, audit.Approval, audit.Decided, audit.Decided, audit.Started, audit.Finished}
	if got := b.events.types(); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
}

func TestOneOperationIsTakenUpWithoutTheOthers(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	mine, q := b.pending(asking)
	other, of := b.pending(asking)
	take := func(id execution.ID) bool {
		t.Helper()
		over, err := b.engine.ResumeOne(t.Context(), execution.Local, id)
		if err != nil {
			t.Error(err)
		}
		return over
	}
	if take(mine) {
		t.Error("it was taken up without a yes")
	}
	for id, question := range map[execution.ID]*execution.Approval{mine: q, other: of} {
		if err := b.desk().Decide(t.Context(), yes(id, question)); err != nil {
			t.Fatal(err)
		}
	}
	if !take(mine) {
		t.Error("it was not taken up")
	}
	if r := b.wait(mine); r.Status != execution.StatusOK || !take(mine) {
		t.Errorf("%+v", r)
	}
	if b.resume() != 1 {
		t.Error("the other one was taken up too")
	}
	if _, err := b.engine.ResumeOne(t.Context(), execution.Local, "op_unknown"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestANoEndsItAndItsMessageReachesTheModel(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	d := yes(id, q)
	d.Verdict, d.Message = execution.Refused, "use pathlib"
	if err := b.desk().Decide(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	r := b.wait(id)
	if r.Status != execution.StatusDenied || !strings.Contains(r.Error.Message, "use pathlib") || r.Stdout != "" || b.resume() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestADecisionCountsOnceAndForWhatWasShown(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	other, _ := b.pending(asking + "\n")
	finished := b.submit(execution.Request{Code: "1"})
	b.wait(finished)
	refused := func(name string, want approval.Cause, d approval.Decision) {
		t.Helper()
		var e *approval.RefusedError
		if err := b.desk().Decide(t.Context(), d); !errors.As(err, &e) || e.Cause != want {
			t.Errorf("%s: %v", name, err)
		}
		if last := b.events.last(); last.Type != audit.Approval || last.Decision != "refused" || last.Reason == "" {
			t.Errorf("%s is recorded as %+v", name, last)
		}
	}
	refused("an unknown operation", approval.Unknown, yes("op_unknown", q))
	refused("one that asked nothing", approval.Unknown, yes(finished, q))
	refused("another operation's question", approval.Stale, yes(other, q))
	stale := yes(id, q)
	stale.Hash[3] ^= 1
	refused("a changed bit", approval.Stale, stale)
	neither := yes(id, q)
	neither.Verdict = "maybe"
	refused("neither yes nor no", approval.Malformed, neither)

	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			d := yes(id, q)
			if i%2 == 1 {
				d.Verdict = execution.Refused
			}
			if err := b.desk().Decide(t.Context(), d); err == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d decisions count", won.Load())
	}
	refused("a second decision", approval.Decided, yes(id, q))
}

func TestAQuestionThatNobodyAnswersExpires(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Nanosecond})
	id, q := b.pending(asking)
	var e *approval.RefusedError
	if err := b.desk().Decide(t.Context(), yes(id, q)); !errors.As(err, &e) || e.Cause != approval.Late {
		t.Errorf("%v", err)
	}
	if b.resume() != 0 {
		t.Error("it was taken up")
	}
	if r := b.wait(id); r.Status != execution.StatusDenied || !strings.Contains(r.Stderr, "Nobody decided") {
		t.Errorf("%+v", r)
	}
}

func TestWhatWaitsCanBeCancelled(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	if r, err := b.engine.Cancel(t.Context(), execution.Local, id); err != nil || r.Status != execution.StatusCancelled {
		t.Fatalf("%+v, %v", r, err)
	}
	var e *approval.RefusedError
	if err := b.desk().Decide(t.Context(), yes(id, q)); !errors.As(err, &e) || e.Cause != approval.Decided {
		t.Errorf("%v", err)
	}
}

func TestWhatWaitsOutlivesItsServerAndIsTakenUpByAnother(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	b.engine.Close()
	if err := b.desk().Decide(t.Context(), yes(id, q)); err != nil {
		t.Fatal(err)
	}
	b.engine = b.another(t)
	if b.resume() != 1 {
		t.Fatal("it was not taken up")
	}
	if r := b.wait(id); r.Status != execution.StatusOK || r.Stdout != "ran\n" {
		t.Errorf("%+v", r)
	}
}

func TestOfSeveralServersOneTakesUpWhatWasApproved(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	engines := []*engine.Engine{b.engine, b.another(t), b.another(t)}
	if err := b.desk().Decide(t.Context(), yes(id, q)); err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int64
	var all sync.WaitGroup
	for _, e := range engines {
		all.Go(func() {
			n, err := e.Resume(t.Context())
			if err != nil {
				t.Error(err)
			}
			taken.Add(int64(n))
		})
	}
	all.Wait()
	if r := b.wait(id); taken.Load() != 1 || r.Status != execution.StatusOK {
		t.Errorf("taken up %d times: %+v", taken.Load(), r)
	}
}
