package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// askingEngine has a human asked about everything, and the test is the human. It keeps
// the operations of principals apart.
type askingEngine struct {
	Engine // what is not asked here

	mu  sync.Mutex // guards what follows
	ops map[execution.ID]*askedOperation
}

type askedOperation struct {
	request execution.Request
	state   execution.State
	result  execution.Result
	over    chan struct{}
}

func newAsking() *askingEngine { return &askingEngine{ops: map[execution.ID]*askedOperation{}} }

func (e *askingEngine) Submit(_ context.Context, r execution.Request) (execution.ID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := execution.ID(fmt.Sprintf("op_%d", len(e.ops)+1))
	e.ops[id] = &askedOperation{request: r, state: execution.StatePending, over: make(chan struct{}), result: execution.Result{
		Status: execution.StatusPendingApproval, OperationID: id, ExitCode: -1, Summary: "Code asks to start mount.",
		Permissions: []string{"run(mount) in line 2"}, ApproveHint: "The user decides in a terminal: gearbox approvals show " + string(id), ExpiresAt: "2026-11-30T07:00:00Z", Gear: "user_confirmed",
	}}
	return id, nil
}

func (e *askingEngine) find(p execution.Principal, id execution.ID) (*askedOperation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if op := e.ops[id]; op != nil && op.request.Principal == p {
		return op, nil
	}
	return nil, &execution.RejectedError{Code: execution.CodeNotFound, Field: "operation_id", Message: fmt.Sprintf("there is no operation %q", string(id))}
}

func (e *askingEngine) WaitUnlessAsked(ctx context.Context, p execution.Principal, id execution.ID, _ time.Duration) (execution.Result, error) {
	return e.Wait(ctx, p, id, 0)
}

func (e *askingEngine) Wait(ctx context.Context, p execution.Principal, id execution.ID, d time.Duration) (execution.Result, error) {
	op, err := e.find(p, id)
	if err != nil {
		return execution.Result{}, err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-op.over:
	case <-timer.C:
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return op.result, nil
}

func (e *askingEngine) Cancel(ctx context.Context, p execution.Principal, id execution.ID) (execution.Result, error) {
	if _, err := e.find(p, id); err != nil {
		return execution.Result{}, err
	}
	e.end(id, cancelledResult(id))
	return e.Wait(ctx, p, id, 0)
}

func (e *askingEngine) State(_ context.Context, p execution.Principal, id execution.ID) (execution.State, error) {
	op, err := e.find(p, id)
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return op.state, nil
}

func (e *askingEngine) Standing(ctx context.Context, p execution.Principal, id execution.ID) (execution.Standing, error) {
	state, err := e.State(ctx, p, id)
	at := time.Now().Add(-time.Minute)
	return execution.Standing{State: state, Created: at, Changed: at.Add(time.Second)}, err
}

// move is what another process does with an operation.
func (e *askingEngine) move(id execution.ID, s execution.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ops[id].state = s
}

// end ends an operation, once.
func (e *askingEngine) end(id execution.ID, r execution.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	op := e.ops[id]
	if op.state == execution.StateFinished {
		return
	}
	r.OperationID = id
	op.state, op.result = execution.StateFinished, r
	close(op.over)
}

func (e *askingEngine) submitted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.ops)
}

func done(stdout string) execution.Result {
	return execution.Result{Status: execution.StatusOK, Stdout: stdout}
}

// eras are a version of the protocol with sessions and one without.
func eras() []string { return []string{"2025-11-25", "2026-07-28"} }

func TestACallWaitsForAHumanOnlyWhenItSaysSo(t *testing.T) {
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := newAsking()
				s, _ := newServer(t, Config{Engine: engine})
				session := connect(t, s, era, nil)
				took := func(want time.Duration, status execution.Status, name string, arguments map[string]any) execution.Result {
					t.Helper()
					start := time.Now()
					res := call(t, session, name, arguments)
					a := structured(t, res)
					if a.Status != status || res.IsError || time.Since(start) != want {
						t.Errorf("%s %v: %s after %v", name, arguments, a.Status, time.Since(start))
					}
					return a
				}
				a := took(0, execution.StatusPendingApproval, "execute", map[string]any{"code": "1"})
				if a.OperationID == "" || a.Summary == "" || len(a.Permissions) != 1 || a.ApproveHint == "" || a.ExpiresAt == "" {
					t.Errorf("%+v", a)
				}
				id := a.OperationID
				took(0, execution.StatusPendingApproval, "get_operation", map[string]any{"operation_id": id})
				took(7*time.Second, execution.StatusPendingApproval, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 7})
				took(7*time.Second, execution.StatusPendingApproval, "execute", map[string]any{"code": "1", "wait_seconds": 7})
				time.AfterFunc(3*time.Second, func() { engine.end(id, done("it ran")) })
				took(3*time.Second, execution.StatusOK, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 7})
				time.AfterFunc(4*time.Second, func() { engine.end("op_3", done("it ran")) })
				if a := took(4*time.Second, execution.StatusOK, "execute", map[string]any{"code": "1", "wait_seconds": 600}); a.Stdout != "it ran" {
					t.Errorf("%+v", a)
				}
			})
		})
	}
}

func TestAClientLearnsWhileItWaitsThatAHumanIsAsked(t *testing.T) {
	for _, era := range eras() {
		synctest.Test(t, func(t *testing.T) {
			engine := newAsking()
			s, _ := newServer(t, Config{Engine: engine})
			start := time.Now()
			last, values := start, []float64{}
			session := connect(t, s, era, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					if gap := time.Since(last); gap > 20*time.Second || !strings.HasPrefix(r.Params.Message, "waiting for approval") {
						t.Errorf("after %v: %q", gap, r.Params.Message)
					}
					last, values = time.Now(), append(values, r.Params.Progress)
				},
			})
			for _, arguments := range []map[string]any{{"code": "1", "wait_seconds": 200}} {
				p := &mcp.CallToolParams{Name: "execute", Arguments: arguments}
				p.SetProgressToken("token")
				if _, err := session.CallTool(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if len(values) < 200/20 || time.Since(last) > 20*time.Second || !slices.IsSorted(values) || len(slices.Compact(values)) != len(values) {
				t.Errorf("%s: %v", era, values)
			}
		})
	}
}

func TestTheMessageOfTheUserReachesTheModel(t *testing.T) {
	engine := newAsking()
	s, _ := newServer(t, Config{Engine: engine})
	session := connect(t, s, "2025-11-25", nil)
	id := structured(t, call(t, session, "execute", map[string]any{"code": "1"})).OperationID
	const no = "The user said no. Nothing was run. Their message: use pathlib"
	engine.end(id, execution.Result{
		Status: execution.StatusDenied, ExitCode: -1, Stderr: no, Permissions: []string{"run(mount) in line 2"}, Gear: "user_confirmed",
		Error: &execution.Error{Code: string(execution.CodePolicyViolation), Message: no},
	})
	res := call(t, session, "get_operation", map[string]any{"operation_id": id})
	if got, want := textOf(res), "Not approved:\n- run(mount) in line 2\n"+no; got != want || !res.IsError {
		t.Errorf("%s", got)
	}
}

func TestWhatAProgramAsksForIsShownVisibly(t *testing.T) {
	engine := newAsking()
	s, _ := newServer(t, Config{Engine: engine, Visible: func(line string) string { return strings.ReplaceAll(line, "\u202e", "⟨RLO⟩") }})
	session := connect(t, s, "2026-07-28", nil)
	id := structured(t, call(t, session, "execute", map[string]any{"code": "1"})).OperationID
	hidden := []string{"read(/tmp/\u202etxt) in line 1"}
	source := "open('/tmp/\u202etxt')"
	engine.mu.Lock()
	engine.ops[id].result.Permissions = hidden
	engine.ops[id].result.Summary = "Code asks to read /tmp/\u202etxt."
	engine.mu.Unlock()
	check := func(text string) {
		t.Helper()
		if strings.Contains(text, "\u202e") || !strings.Contains(text, "⟨RLO⟩") {
			t.Errorf("%q", text)
		}
	}
	res := call(t, session, "get_operation", map[string]any{"operation_id": id})
	check(textOf(res))
	check(string(mustJSON(t, res.StructuredContent)))
	read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "operation://" + string(id)})
	if err != nil {
		t.Fatal(err)
	}
	check(read.Contents[0].Text)
	if hidden[0] != "read(/tmp/\u202etxt) in line 1" {
		t.Error("what the engine has was changed")
	}
	engine.end(id, execution.Result{Status: execution.StatusDenied, Error: &execution.Error{Code: "POLICY_VIOLATION", Violations: []execution.Violation{{Permission: "unsafe(x)", Source: source}}}})
	check(textOf(call(t, session, "get_operation", map[string]any{"operation_id": id})))
}

// noDecision holds that nothing in a message looks like a way to decide.
func noDecision(t *testing.T, message any) {
	t.Helper()
	text := string(mustJSON(t, message))
	for _, word := range []string{"hash", "passphrase", "token", "Bearer"} {
		if strings.Contains(text, word) {
			t.Errorf("%q stands in %s", word, text)
		}
	}
}

func decodeAnswer(t *testing.T, text string) execution.Result {
	t.Helper()
	var r execution.Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// anew puts another question about an operation.
func (e *askingEngine) anew(id execution.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := &e.ops[id].result.Question
	*q = execution.DigestOf(q[:])
}

// Nothing is wrong with a program about which a human cannot be asked now.
func TestARefusalForWantOfRoomAsksForNoOtherCode(t *testing.T) {
	const why = "As many of your executions wait for a human already as approvals.max_pending allows."
	got := text(execution.Result{Status: execution.StatusDenied, ExitCode: -1, Error: &execution.Error{Code: string(execution.CodeUnavailable), Message: why}})
	if got != why {
		t.Errorf("%q", got)
	}
}

func TestWhatWaitsForAServerAfterAYesSaysSo(t *testing.T) {
	const what = "The user said yes. It waits for its turn."
	got := text(execution.Result{Status: execution.StatusRunning, OperationID: "op_a", ExitCode: -1, Summary: what})
	if !strings.HasPrefix(got, what+" Call get_operation(") || strings.Contains(got, "Still running") {
		t.Errorf("%s", got)
	}
}
