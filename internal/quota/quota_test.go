package quota

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// engine runs each execution until it is ended.
type engine struct {
	Engine // what is not bounded is passed on and not asked here

	mu      sync.Mutex
	running map[execution.ID]chan execution.Status
	refuses error
}

func newEngine() *engine { return &engine{running: map[execution.ID]chan execution.Status{}} }

func (e *engine) Submit(context.Context, execution.Request) (execution.ID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuses != nil {
		return "", e.refuses
	}
	id := execution.ID(fmt.Sprintf("op_%d", len(e.running)))
	e.running[id] = make(chan execution.Status)
	return id, nil
}

func (e *engine) WaitUnlessAsked(ctx context.Context, _ execution.Principal, id execution.ID, _ time.Duration) (execution.Result, error) {
	e.mu.Lock()
	ended := e.running[id]
	e.mu.Unlock()
	select {
	case s := <-ended:
		return execution.Result{Status: s}, nil
	case <-ctx.Done():
		return execution.Result{Status: execution.StatusRunning}, nil
	}
}

// Wait is the same: whose program asks in the middle is told of by asking.
func (e *engine) Wait(ctx context.Context, p execution.Principal, id execution.ID, d time.Duration) (execution.Result, error) {
	return e.WaitUnlessAsked(ctx, p, id, d)
}

// asking is an engine whose programs all wait for a human about a call.
type asking struct {
	*engine

	looks atomic.Int64
}

func (e *asking) WaitUnlessAsked(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error) {
	e.looks.Add(1)
	return execution.Result{Status: execution.StatusRunning, ApproveHint: "ask a human"}, nil
}

// end ends an execution, as seen by whoever waits for it.
func (e *engine) end(id execution.ID, s execution.Status) {
	e.mu.Lock()
	ended := e.running[id]
	e.mu.Unlock()
	ended <- s
}

type book map[execution.Principal]Bounds

func (b book) Bounds(p execution.Principal) (Bounds, error) {
	if p == "broken" {
		return Bounds{}, errors.New("tokens.json cannot be read")
	}
	return b[p], nil
}

func submit(l *Limiter, p execution.Principal) (execution.ID, error) {
	return l.Submit(context.Background(), execution.Request{Principal: p})
}

// refusedFor is how long the caller is told to wait; 0 when it was not refused.
func refusedFor(t *testing.T, err error) time.Duration {
	t.Helper()
	var r *execution.RejectedError
	if err == nil {
		return 0
	}
	if !errors.As(err, &r) || r.Code != execution.CodeUnavailable || r.RetryAfter <= 0 {
		t.Fatalf("%v", err)
	}
	return r.RetryAfter
}

func TestTheRateIsHeldForEachPrincipalAlone(t *testing.T) {
	now := time.Unix(1000, 0)
	l := New(newEngine(), book{"token:a": {Rate: 12}, "token:b": {Rate: 12}}, func() time.Time { return now })
	defer l.Close()
	for range 2 { // a sixth of twelve at once
		if _, err := submit(l, "token:a"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // being refused costs nothing
		_, err := submit(l, "token:a")
		if wait := refusedFor(t, err); wait != 5*time.Second || !strings.Contains(err.Error(), "12") {
			t.Errorf("%v: %v", wait, err)
		}
	}
	if _, err := submit(l, "token:b"); err != nil {
		t.Errorf("another principal: %v", err)
	}
	now = now.Add(5 * time.Second)
	if _, err := submit(l, "token:a"); err != nil {
		t.Errorf("after the time that was named: %v", err)
	}
	taken := 3
	for range 600 {
		now = now.Add(100 * time.Millisecond)
		if _, err := submit(l, "token:a"); err == nil {
			taken++
		}
	}
	if taken > 12+3 {
		t.Errorf("%d in little more than a minute", taken)
	}
}

func TestARateOfOneIsOneAMinute(t *testing.T) {
	now := time.Unix(1000, 0)
	l := New(newEngine(), book{"token:a": {Rate: 1}}, func() time.Time { return now })
	defer l.Close()
	_, first := submit(l, "token:a")
	_, second := submit(l, "token:a")
	if first != nil || refusedFor(t, second) != time.Minute {
		t.Errorf("%v, %v", first, second)
	}
}

func TestAProgramThatWaitsForAHumanAboutACallIsUnderWayAllTheSame(t *testing.T) {
	e := &asking{engine: newEngine()}
	l := New(e, book{"token:a": {Concurrency: 1}}, time.Now)
	id, err := submit(l, "token:a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := submit(l, "token:a"); refusedFor(t, err) == 0 {
		t.Error("another one was taken")
	}
	e.end(id, execution.StatusOK)
	l.Close()
	if n := e.looks.Load(); n != 1 {
		t.Errorf("%d looks", n)
	}
}

func TestNoMoreThanSoManyAreUnderWayAtOnce(t *testing.T) {
	for _, s := range []execution.Status{execution.StatusOK, execution.StatusDenied, execution.StatusPendingApproval, execution.StatusCancelled} {
		e := newEngine()
		l := New(e, book{"token:a": {Concurrency: 2}}, time.Now)
		one, err := submit(l, "token:a")
		if err == nil {
			_, err = submit(l, "token:a")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := submit(l, "token:a"); refusedFor(t, err) == 0 {
			t.Error("a third one was taken")
		}
		e.end(one, s)
		for { // the end is seen beside this
			if _, err = submit(l, "token:a"); err == nil {
				break
			}
		}
		if _, err := submit(l, "token:a"); refusedFor(t, err) == 0 {
			t.Errorf("%s made room for two", s)
		}
		l.Close()
	}
}

func TestAnExecutionThatWasNotTakenCountsNothing(t *testing.T) {
	e := newEngine()
	l := New(e, book{"token:a": {Concurrency: 1}}, time.Now)
	defer l.Close()
	e.refuses = &execution.RejectedError{Code: execution.CodeInvalidArgument, Message: "no such gear"}
	for range 3 {
		if _, err := submit(l, "token:a"); !errors.Is(err, e.refuses) {
			t.Errorf("%v", err)
		}
	}
	e.refuses = nil
	if _, err := submit(l, "token:a"); err != nil {
		t.Error(err)
	}
}

func TestWhoHasNoBoundsIsPassedOn(t *testing.T) {
	l := New(newEngine(), book{}, time.Now)
	defer l.Close()
	for range 100 {
		if _, err := submit(l, execution.Local); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBoundsThatCannotBeReadLetNothingStart(t *testing.T) {
	e := newEngine()
	l := New(e, book{}, time.Now)
	defer l.Close()
	if _, err := submit(l, "broken"); err == nil || len(e.running) != 0 {
		t.Errorf("%v, %d started", err, len(e.running))
	}
}

func TestManyAtOnceNeverExceedTheBound(t *testing.T) {
	e := newEngine()
	l := New(e, book{"token:a": {Concurrency: 3}}, time.Now)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { _, _ = submit(l, "token:a") })
	}
	all.Wait()
	if n := len(e.running); n != 3 {
		t.Errorf("%d under way", n)
	}
	l.Close()
}

func TestWhatGoesOnAfterAYesCountsAsUnderWayAndNotAsStarted(t *testing.T) {
	l := New(newEngine(), book{"token:a": {Concurrency: 2, Rate: 6}}, func() time.Time { return time.Unix(1000, 0) })
	defer l.Close()
	if _, err := submit(l, "token:a"); err != nil { // the one of this moment
		t.Fatal(err)
	}
	left, err := l.Enter("token:a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Enter("token:a"); refusedFor(t, err) == 0 {
		t.Error("a third one was taken up")
	}
	left()
	if left, err = l.Enter("token:a"); err != nil {
		t.Errorf("when one has ended: %v", err)
	}
	if _, err := submit(l, "token:a"); refusedFor(t, err) == 0 {
		t.Error("a third one was submitted")
	}
	left()
	for range 100 {
		if _, err := l.Enter(execution.Local); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Enter("broken"); err == nil {
		t.Error("bounds that cannot be read let it go on")
	}
}
