package mcpserver

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// withinEngine has programs that run and wait for a human about a call, as the engine tells
// of them.
type withinEngine struct{ *askingEngine }

func (e withinEngine) Submit(ctx context.Context, r execution.Request) (execution.ID, error) {
	id, err := e.askingEngine.Submit(ctx, r)
	e.mu.Lock()
	defer e.mu.Unlock()
	op := e.ops[id]
	op.state, op.result = execution.StateRunning, execution.Result{
		Status: execution.StatusRunning, OperationID: id, ExitCode: -1, Summary: "The program waits for a human. The call of S.echo needs a human's yes.",
		Permissions: []string{"tool(S.echo)"}, ApproveHint: "The user decides in a terminal: gearbox approvals show op_call", ExpiresAt: "2026-11-30T07:00:00Z",
	}
	return id, err
}

func TestAProgramThatWaitsForAHumanSaysWhatForAtOnceUnlessItIsWaitedFor(t *testing.T) {
	for _, era := range eras() {
		synctest.Test(t, func(t *testing.T) {
			engine := withinEngine{newAsking()}
			s, _ := newServer(t, Config{Engine: engine})
			session := connect(t, s, era, nil)
			took := func(want time.Duration, name string, arguments map[string]any) execution.Result {
				t.Helper()
				start := time.Now()
				res := call(t, session, name, arguments)
				if time.Since(start) != want || res.IsError {
					t.Errorf("%s %v: %s after %v", name, arguments, textOf(res), time.Since(start))
				}
				a := structured(t, res)
				if a.Status == execution.StatusRunning {
					for _, part := range []string{"needs a human's yes", "- tool(S.echo)", "gearbox approvals show op_call", "expires at 2026-11-30T07:00:00Z", "Tell your user", "get_operation(operation_id=\"" + string(a.OperationID)} {
						if !strings.Contains(textOf(res), part) {
							t.Errorf("%q is missing in %q", part, textOf(res))
						}
					}
				}
				return a
			}
			a := took(0, "execute", map[string]any{"code": "1"})
			if !a.AsksWithin() || len(a.Permissions) != 1 || a.ExpiresAt == "" {
				t.Errorf("%+v", a)
			}
			id := a.OperationID
			took(0, "get_operation", map[string]any{"operation_id": id})
			took(7*time.Second, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 7})
			time.AfterFunc(3*time.Second, func() { engine.end(id, done("it ran")) })
			if a := took(3*time.Second, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 7}); a.Stdout != "it ran" {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestAToolThatKnowsNoOperationsStaysWhileACallIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := withinEngine{newAsking()}
		s, _ := newServer(t, Config{Engine: engine, Compat: []string{ProfileMCPRunPython}})
		session := connect(t, s, "2025-11-25", nil)
		time.AfterFunc(time.Minute, func() { engine.end("op_1", done("it ran")) })
		if res := call(t, session, "run_python_code", map[string]any{"python_code": "1"}); !strings.Contains(textOf(res), "it ran") {
			t.Error(textOf(res))
		}
	})
}

func TestATaskWhoseProgramWaitsForAHumanEndsAndLeavesItWaiting(t *testing.T) {
	engine := withinEngine{newAsking()}
	s, _ := newServer(t, Config{Engine: engine, Agent: solverOf(func(ctx context.Context, task AgentTask) (AgentAnswer, error) {
		res, err := task.Run(ctx, "1")
		return AgentAnswer{Text: string(res.OperationID) + " " + string(res.Status) + " " + res.ApproveHint}, err
	})})
	session := connect(t, s, "2025-11-25", nil)
	if res := call(t, session, "run_agent", map[string]any{"task": "count"}); textOf(res) != "op_1 running The user decides in a terminal: gearbox approvals show op_call" {
		t.Error(textOf(res))
	}
	if a := structured(t, call(t, session, "get_operation", map[string]any{"operation_id": "op_1"})); !a.AsksWithin() {
		t.Errorf("%+v", a)
	}
}
