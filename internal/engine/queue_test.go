//go:build unix

package engine_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// stays is a program that runs until it is ended.
var stays = execution.Request{Code: "import time\ntime.sleep(600)", Timeout: 300 * time.Second}

// asked submits a program of a principal about which a human is asked, and tells how it
// stands once it is analysed.
func (b *bench) asked(p execution.Principal) execution.Result {
	b.t.Helper()
	id, err := b.engine.Submit(b.t.Context(), execution.Request{Principal: p, Language: execution.Python, Code: asking})
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.engine.WaitUnlessAsked(b.t.Context(), p, id, time.Hour)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) cancel(id execution.ID) {
	b.t.Helper()
	if _, err := b.engine.Cancel(b.t.Context(), execution.Local, id); err != nil {
		b.t.Fatal(err)
	}
}

func TestWhatWaitsForAHumanHasNoPlaceInTheQueue(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour, queue: 1})
	for range 5 {
		b.pending(asking)
	}
	if r := b.run(execution.Request{Code: "1"}); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
}

// New operations fill the queue, and what was approved has places of its own.
func TestAFullQueueOfNewOperationsKeepsNoApprovedOneOut(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour, turns: 1, queue: 1})
	first, _ := b.pending(asking)
	second, _ := b.pending(asking)
	busy := b.submit(stays)
	b.approve(first)
	if b.resume() != 1 || b.state(first) != execution.StateResumed {
		t.Errorf("it is %s", b.state(first))
	}
	b.approve(second) // for which there is no place
	if b.resume() != 0 || b.state(second) != execution.StateApproved {
		t.Errorf("it is %s", b.state(second))
	}
	var rejected *execution.RejectedError
	if _, err := b.engine.Submit(t.Context(), execution.Request{Principal: execution.Local, Language: execution.Python, Code: "1"}); !errors.As(err, &rejected) {
		t.Errorf("a new one is taken on in a full queue: %v", err)
	}
	b.cancel(busy)
	if r := b.wait(first); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
	for b.resume() == 0 { // the first may be about to be forgotten
		if b.state(second) != execution.StateApproved {
			t.Fatalf("it is %s", b.state(second))
		}
	}
	if r := b.wait(second); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
}

func TestNoMoreOfAPrincipalsOperationsWaitForAHumanThanMay(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	b.config.MaxPending = func() int { return 2 }
	b.engine = b.another(t)
	first, _ := b.pending(asking)
	again, _ := b.pending(asking)
	r := b.asked(execution.Local)
	if r.Status != execution.StatusDenied || r.Error == nil || r.Error.Code != string(execution.CodeUnavailable) || !strings.Contains(r.Error.Message, "approvals.max_pending") {
		t.Fatalf("%+v", r)
	}
	if n := b.count(audit.Approval); n != 2 {
		t.Errorf("%d questions are recorded", n)
	}
	if r := b.asked("another"); r.Status != execution.StatusPendingApproval {
		t.Errorf("another principal: %+v", r)
	}
	b.cancel(first)
	if r := b.asked(execution.Local); r.Status != execution.StatusPendingApproval {
		t.Errorf("when there is room again: %+v", r)
	}
	// What a human said yes to may come back: that is no further question of the caller's.
	b.approve(again)
	b.asked(execution.Local)
	whole := b.config.Places
	b.config.Places = placed{whole, func(_ context.Context, p engine.Place) (engine.Place, error) {
		p.Analyser += "x"
		return p, nil
	}}
	b.engine = b.another(t)
	if b.resume() != 1 {
		t.Error("it is not taken up")
	}
	b.until(again, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval })
}

func TestWhatIsTakenUpIsBoundedAsNewOperationsAre(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	var most, underWay atomic.Int64
	b.config.Enter = func(execution.Principal) (func(), error) {
		if underWay.Add(1) > most.Load() {
			underWay.Add(-1)
			return nil, &execution.RejectedError{Code: execution.CodeUnavailable, Message: "too many"}
		}
		return func() { underWay.Add(-1) }, nil
	}
	b.engine = b.another(t)
	id, _ := b.pending(asking)
	b.approve(id)
	if b.resume() != 0 || b.state(id) != execution.StateApproved {
		t.Errorf("it is %s", b.state(id))
	}
	most.Store(1)
	b.config.Journal = &disturbed{Journal: b.journal, to: execution.StateResumed, before: func() {
		if n := underWay.Load(); n != 1 {
			t.Errorf("%d are under way", n)
		}
	}}
	b.engine = b.another(t)
	if b.resume() != 1 {
		t.Error("it is not taken up")
	}
	if r := b.wait(id); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
	b.engine.Close()
	if n := underWay.Load(); n != 0 {
		t.Errorf("%d are under way when it has ended", n)
	}
	// What cannot be looked up lets nothing begin, and says so.
	b.config.Enter = func(execution.Principal) (func(), error) { return nil, errors.New("unreadable") }
	b.engine = b.another(t)
	next, _ := b.pending(asking)
	b.approve(next)
	if n, err := b.engine.Resume(t.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), "unreadable") {
		t.Errorf("%d, %v", n, err)
	}
}

// held is places that wait for one principal's sandbox.
type held struct {
	engine.Places
	until chan struct{}
	who   execution.Principal
	hold  func()
}

func (h held) Place(ctx context.Context, p execution.Principal, g gear.Frozen, l execution.Language) (engine.Place, error) {
	if p == h.who {
		h.hold()
		<-h.until
	}
	return h.Places.Place(ctx, p, g, l)
}

func TestASandboxThatTakesLongKeepsNoOtherPrincipalsOperationBack(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	slow, quick := b.asked("slow").OperationID, b.asked("quick").OperationID
	b.approve(slow)
	b.approve(quick)
	h := held{b.config.Places, make(chan struct{}), "slow", func() {}}
	b.config.Places = h
	b.engine = b.another(t)
	var looks sync.WaitGroup
	looks.Go(func() {
		if n := b.resume(); n != 2 {
			t.Errorf("%d were taken up", n)
		}
	})
	if r, err := b.engine.Wait(t.Context(), "quick", quick, time.Hour); err != nil || r.Status != execution.StatusOK {
		t.Errorf("%+v, %v", r, err)
	}
	if b.state(slow) != execution.StateApproved {
		t.Errorf("the slow one is %s", b.state(slow))
	}
	close(h.until)
	looks.Wait()
	if r, err := b.engine.Wait(t.Context(), "slow", slow, time.Hour); err != nil || r.Status != execution.StatusOK {
		t.Errorf("%+v, %v", r, err)
	}
}

// leaping is a clock that is put forward.
type leaping struct {
	wallClock
	by *atomic.Int64
}

func (l leaping) Now() time.Time { return l.wallClock.Now().Add(time.Duration(l.by.Load())) }

func TestOneLookAtWhatWasApprovedIsSoonOver(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	var ids []execution.ID
	for range 3 {
		id, _ := b.pending(asking)
		b.approve(id)
		ids = append(ids, id)
	}
	clock := leaping{by: new(atomic.Int64)}
	open := make(chan struct{})
	close(open)
	b.config.Clock, b.config.Places = clock, held{b.config.Places, open, execution.Local, func() { clock.by.Add(int64(time.Second)) }}
	b.engine = b.another(t)
	for i := range ids {
		if n := b.resume(); n != 1 {
			t.Errorf("look %d took up %d", i, n)
		}
	}
	for _, id := range ids {
		if r := b.wait(id); r.Status != execution.StatusOK {
			t.Errorf("%+v", r)
		}
	}
}

// watched is a journal that counts what is read of it.
type watched struct {
	engine.Journal
	loads, states atomic.Int64
}

func (w *watched) Load(ctx context.Context, p execution.Principal, id execution.ID) (execution.Record, error) {
	w.loads.Add(1)
	return w.Journal.Load(ctx, p, id)
}

func (w *watched) State(ctx context.Context, p execution.Principal, id execution.ID) (execution.State, error) {
	w.states.Add(1)
	return w.Journal.State(ctx, p, id)
}

func TestWhoeverWaitsForAHumanReadsTheRecordOnlyWhenItHasChanged(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, q := b.pending(asking)
	journal := &watched{Journal: b.journal}
	b.config.Journal = journal
	other := b.another(t)
	waited := make(chan execution.Result, 1)
	go func() {
		r, err := other.Wait(t.Context(), execution.Local, id, time.Hour)
		if err != nil {
			t.Error(err)
		}
		waited <- r
	}()
	for journal.states.Load() < 5 {
		runtime.Gosched()
	}
	if n := journal.loads.Load(); n != 1 {
		t.Errorf("the record was read %d times while nothing changed", n)
	}
	c := yes(id, q)
	c.Verdict = execution.Refused
	if err := b.desk().Decide(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if r := <-waited; r.Status != execution.StatusDenied || journal.loads.Load() != 2 {
		t.Errorf("%+v, read %d times", r, journal.loads.Load())
	}
}
