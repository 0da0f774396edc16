package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// engineStub answers Wait with one result after the other.
type engineStub struct {
	answers   []execution.Result
	submitErr error
	onWait    func()
	cancelled execution.ID
	cancelCtx error
}

func (e *engineStub) Submit(context.Context, execution.Request) (execution.ID, error) {
	return "op_1", e.submitErr
}

func (e *engineStub) Wait(ctx context.Context, _ execution.Principal, _ execution.ID, _ time.Duration) (execution.Result, error) {
	if e.onWait != nil {
		e.onWait()
	}
	r := e.answers[0]
	e.answers = e.answers[1:]
	return r, ctx.Err()
}

func (e *engineStub) Cancel(ctx context.Context, _ execution.Principal, id execution.ID) (execution.Result, error) {
	e.cancelled, e.cancelCtx = id, ctx.Err()
	return execution.Result{Status: execution.StatusCancelled}, nil
}

func TestExecWaitsToTheEndHoweverLong(t *testing.T) {
	running, ok := execution.Result{Status: execution.StatusRunning}, execution.Result{Status: execution.StatusOK}
	e := &engineStub{answers: []execution.Result{running, running, ok}}
	if r, err := runToEnd(context.Background(), e, execution.Request{}); err != nil || r.Status != execution.StatusOK {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestInterruptCancelsTheRunAndWaitsForItsEnd(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	e := &engineStub{answers: []execution.Result{{Status: execution.StatusRunning}}, onWait: interrupt}
	r, err := runToEnd(ctx, e, execution.Request{})
	if err != nil || r.Status != execution.StatusCancelled || e.cancelled != "op_1" {
		t.Errorf("%+v, %v, cancelled %q", r, err, e.cancelled)
	}
	if e.cancelCtx != nil {
		t.Error("cancelling was given the context that had already ended")
	}
}

func TestRefusedSubmissionIsReturned(t *testing.T) {
	want := &execution.RejectedError{Code: execution.CodeUnavailable}
	if _, err := runToEnd(context.Background(), &engineStub{submitErr: want}, execution.Request{}); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

func TestProgressDoesNotStandInTheLineOfAPrompt(t *testing.T) {
	var said []string
	p := &progress{say: func(s string) { said = append(said, s) }}
	p.tell("before")
	release := p.hold()
	p.tell("meanwhile")
	p.tell("last")
	if len(said) != 1 {
		t.Errorf("%q while somebody was asked", said)
	}
	release()
	p.hold()()
	p.tell("after")
	if got := strings.Join(said, " "); got != "before last after" {
		t.Errorf("%q", got)
	}
}
