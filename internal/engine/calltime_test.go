//go:build unix

package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestACallLastsNoLongerThanTheProgramGivesIt(t *testing.T) {
	for name, code := range map[string]string{
		"call": "tools.call('S', 'slow', {'n': 1}, timeout=2.5)",
		"aio":  "await tools.aio.call('S', 'slow', {'n': 1}, timeout=2.5)",
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			b := newCallBench(t, toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
				if head.Tool != "slow" {
					return echo(ctx, head, body)
				}
				close(begun)
				<-ctx.Done()
				return failure("ToolError", "given up"), nil
			}), 100).withHand(t)
			id := b.submit(execution.Request{Code: fromS + "try:\n    " + code + "\nexcept tools.ToolTimeout as e:\n    late = [str(e), s.echo(n=2)['n']]\nlate"})
			<-begun
			b.hand().fire(2500 * time.Millisecond)
			r := b.wait(id)
			got := value[[]any](t, r)
			if !strings.Contains(got[0].(string), "S.slow was not answered within the 2.5s") || got[1] != 2.0 || r.ToolCalls[0].Status != "timeout" {
				t.Errorf("%v, %+v", got, r.ToolCalls)
			}
			var ends []execution.Status
			for _, e := range b.events.all() {
				if e.Type == audit.ToolCall && e.Status != execution.StatusRunning {
					ends = append(ends, e.Status)
				}
			}
			if len(ends) != 2 || ends[0] != execution.StatusTimeout {
				t.Errorf("recorded %v", ends)
			}
		})
	}
}

func TestTheTimeOfACallStandsStillWhileAHumanIsAsked(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	id := a.submit(execution.Request{Timeout: time.Minute, Code: fromS + caught + "told(tools.call, server='S', tool='echo', arguments={'n': 1}, timeout=5)"})
	q := a.question(id)
	a.clock.pass(5 * time.Minute)
	a.approve(q)
	if got := value[map[string]int](t, a.wait(id)); got["n"] != 1 {
		t.Error(got)
	}
}

func TestTheTimeOfACallPassesAgainWhenItIsMadeAfterAYes(t *testing.T) {
	a := newAsker(t, benchConfig{}, nil)
	a.server.slow = make(chan struct{})
	id := a.submit(execution.Request{Timeout: time.Minute, Code: fromS + caught + "told(tools.call, server='S', tool='echo', arguments={'n': 1}, timeout=5)"})
	q := a.question(id)
	a.clock.pass(5 * time.Minute)
	a.approve(q)
	for len(a.server.calls()) == 0 && t.Context().Err() == nil {
		a.resume()
	}
	a.clock.pass(6 * time.Second)
	if got := value[[]string](t, a.wait(id)); got[0] != "ToolTimeout" {
		t.Error(got)
	}
	if r := a.wait(q.ID); r.Status != execution.StatusCancelled {
		t.Errorf("%+v", r)
	}
}
