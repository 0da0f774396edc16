package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func approvalPage(t *testing.T) *url.URL {
	t.Helper()
	u, err := CheckPage("https://approve.example/q?team=a")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// opens is a client that can show pages.
func opens(answer func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer(ctx, r.Params)
		},
	}
}

// TestWhateverAClientAnswersDecidesNothing: once asked, the answer of the call is that of
// the records.
func TestWhateverAClientAnswersDecidesNothing(t *testing.T) {
	answers := map[string]func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error){}
	for _, action := range []string{"accept", "decline", "cancel"} {
		answers[action] = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: action, Content: map[string]any{}}, nil
		}
	}
	answers["fails"] = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return nil, errors.New("no browser")
	}
	answers["is silent"] = func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, era := range eras() {
		for name, answer := range answers {
			if era == "2026-07-28" && (name == "fails" || name == "is silent") {
				continue // such a client does not repeat its call
			}
			t.Run(era+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					engine := newAsking()
					s, _ := newServer(t, Config{Engine: engine, ApprovalPage: approvalPage(t)})
					asked := 0
					session := connect(t, s, era, opens(func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						asked++
						noDecision(t, p)
						if p.Mode != "url" || p.URL != "https://approve.example/q?operation_id=op_1&team=a" || !strings.Contains(p.Message, "start mount") || (p.ElicitationID == "") != (era == "2026-07-28") {
							t.Errorf("asked with %+v", p)
						}
						return answer(ctx, p)
					}))
					res := call(t, session, "execute", map[string]any{"code": "1"})
					if a := structured(t, res); a.Status != execution.StatusPendingApproval || a.OperationID != "op_1" || res.IsError {
						t.Errorf("%+v", a)
					}
					call(t, session, "get_operation", map[string]any{"operation_id": "op_1"})
					call(t, session, "get_operation", map[string]any{"operation_id": "op_1", "wait_seconds": 1})
					if state, _ := engine.State(t.Context(), "local", "op_1"); state != execution.StatePending || asked != 1 || engine.submitted() != 1 {
						t.Errorf("%s, asked %d times, %d operations", state, asked, engine.submitted())
					}
				})
			})
		}
	}
}

func TestACallThatWaitsGoesOnWaitingAfterTheClientWasAsked(t *testing.T) {
	for _, era := range eras() {
		synctest.Test(t, func(t *testing.T) {
			engine := newAsking()
			s, _ := newServer(t, Config{Engine: engine, ApprovalPage: approvalPage(t)})
			session := connect(t, s, era, opens(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				time.AfterFunc(30*time.Second, func() { engine.end("op_1", done("it ran")) })
				return &mcp.ElicitResult{Action: "accept"}, nil
			}))
			start := time.Now()
			res := call(t, session, "execute", map[string]any{"code": "1", "wait_seconds": 100})
			if a := structured(t, res); a.Status != execution.StatusOK || time.Since(start) != 30*time.Second {
				t.Errorf("%s: %+v after %v", era, a, time.Since(start))
			}
		})
	}
}

func TestAQuestionThatIsDecidedIsTakenBackFromTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newAsking()
		s, _ := newServer(t, Config{Engine: engine, ApprovalPage: approvalPage(t)})
		back := make(chan struct{})
		session := connect(t, s, "2025-11-25", opens(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			defer close(back)
			time.AfterFunc(5*time.Second, func() { engine.end("op_1", done("it ran")) })
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		start := time.Now()
		if a := structured(t, call(t, session, "execute", map[string]any{"code": "1"})); a.Status != execution.StatusOK || time.Since(start) != 5*time.Second {
			t.Errorf("%+v after %v", a, time.Since(start))
		}
		<-back
	})
}

func TestOnlyAClientThatShowsPagesIsAskedAndOnlyWhereThereIsOne(t *testing.T) {
	never := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		t.Error("it was asked")
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	form := opens(never)
	form.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
	for _, era := range eras() {
		for name, c := range map[string]struct {
			page   *url.URL
			client *mcp.ClientOptions
		}{
			"no page":        {nil, opens(never)},
			"forms":          {approvalPage(t), form},
			"no elicitation": {approvalPage(t), nil},
		} {
			s, _ := newServer(t, Config{Engine: newAsking(), ApprovalPage: c.page})
			session := connect(t, s, era, c.client)
			if a := structured(t, call(t, session, "execute", map[string]any{"code": "1"})); a.Status != execution.StatusPendingApproval {
				t.Errorf("%s, %s: %+v", era, name, a)
			}
		}
	}
}

func TestTheStateOfARepeatedCallNamesNoMoreThanTheCallersOwnOperation(t *testing.T) {
	engine := newAsking()
	s, _ := newServer(t, Config{Engine: engine, ApprovalPage: approvalPage(t)})
	o := opens(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errors.New("unused") })
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	session := connect(t, s, "2026-07-28", o)
	execute := func(code, state string) *mcp.CallToolResult {
		t.Helper()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "execute", Arguments: map[string]any{"code": code}, RequestState: state,
			InputResponses: mcp.InputResponseMap{inputKey: &mcp.ElicitResult{Action: "accept"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := execute("1", "")
	if !first.NeedsInput() || len(first.InputRequests) != 1 {
		t.Fatalf("%+v", first)
	}
	if a := structured(t, execute("1", first.RequestState)); a.Status != execution.StatusPendingApproval || a.OperationID != "op_1" {
		t.Errorf("%+v", a)
	}
	if a := structured(t, execute("2", first.RequestState)); a.Status != execution.StatusRejected || a.Error.Code != "INVALID_ARGUMENT" {
		t.Errorf("with other code: %+v", a)
	}
	// Whoever makes one up for another's operation learns nothing of it.
	if _, err := engine.Submit(t.Context(), execution.Request{Principal: "another", Language: execution.Python, Code: "1"}); err != nil {
		t.Fatal(err)
	}
	made := stateOf(execution.Request{Language: execution.Python, Code: "1"}, "op_2")
	if a := structured(t, execute("1", made)); a.Status != execution.StatusRejected || a.Error.Code != "NOT_FOUND" {
		t.Errorf("of another: %+v", a)
	}
	if engine.submitted() != 2 {
		t.Errorf("%d operations", engine.submitted())
	}
}

// TestTheStateOfACallIsNoneOfAnyOther: whatever of a call is another makes it another, and
// the form of its JSON does not.
func TestTheStateOfACallIsNoneOfAnyOther(t *testing.T) {
	call := func() execution.Request {
		return execution.Request{
			Language: execution.Python, Code: "1", Gear: "user_confirmed", Timeout: time.Second, Stdin: []byte("in"),
			Variables: map[string]json.RawMessage{"a": json.RawMessage(`{"x":1,"y":[2]}`), "b": json.RawMessage(`1`)},
			Files:     []execution.File{{Path: "f", Data: []byte("d")}, {Path: "g", Data: []byte("")}},
		}
	}
	state := stateOf(call(), "op_1")
	for name, change := range map[string]func(*execution.Request){
		"language":             func(r *execution.Request) { r.Language = execution.Bash },
		"code":                 func(r *execution.Request) { r.Code = "2" },
		"gear":                 func(r *execution.Request) { r.Gear = "" },
		"timeout":              func(r *execution.Request) { r.Timeout = 2 * time.Second },
		"stdin":                func(r *execution.Request) { r.Stdin = nil },
		"a variable":           func(r *execution.Request) { r.Variables["b"] = json.RawMessage(`2`) },
		"the kind of a number": func(r *execution.Request) { r.Variables["b"] = json.RawMessage(`1.0`) },
		"one variable more":    func(r *execution.Request) { r.Variables["c"] = json.RawMessage(`1`) },
		"one variable less":    func(r *execution.Request) { delete(r.Variables, "b") },
		"a file's content":     func(r *execution.Request) { r.Files[0].Data = []byte("e") },
		"a file's path":        func(r *execution.Request) { r.Files[0].Path = "h" },
		"one file less":        func(r *execution.Request) { r.Files = r.Files[:1] },
		"a file as a variable": func(r *execution.Request) {
			r.Variables["f"], r.Files = json.RawMessage(`d`), r.Files[1:]
		},
	} {
		r := call()
		change(&r)
		if id, err := carried(state, r); err == nil {
			t.Errorf("%s is another, and it is taken for %s", name, id)
		}
	}
	again := call()
	again.Variables["a"] = json.RawMessage(`{ "y": [2], "x": 1 }`)
	again.Principal, again.Client.Name = "somebody", "a client" // which are those of the connection
	if id, err := carried(state, again); err != nil || id != "op_1" {
		t.Errorf("%s %v", id, err)
	}
}

func TestAnAddressWithASecretIsNoPage(t *testing.T) {
	for _, bad := range []string{"", "approve", "/approve", "ftp://host/", "https://user:secret@host/", "https://host/#key", "https:///x", "ht tp://x"} {
		if u, err := CheckPage(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", bad, u, err)
		}
	}
}

// TestAQuestionThatIsPutAnewIsOfferedAgainOnce: by the call that waits, and by a later one.
func TestAQuestionThatIsPutAnewIsOfferedAgainOnce(t *testing.T) {
	for _, era := range eras() {
		for name, waits := range map[string]bool{"by the call that waits": true, "by a later one": false} {
			t.Run(era+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					engine := newAsking()
					s, _ := newServer(t, Config{Engine: engine, ApprovalPage: approvalPage(t)})
					var ids []string
					session := connect(t, s, era, opens(func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						noDecision(t, p)
						ids = append(ids, p.ElicitationID)
						if waits && len(ids) == 1 {
							time.AfterFunc(10*time.Second, func() { engine.anew("op_1") })
							time.AfterFunc(30*time.Second, func() { engine.end("op_1", done("it ran")) })
						}
						return &mcp.ElicitResult{Action: "accept"}, nil
					}))
					if waits {
						if a := structured(t, call(t, session, "execute", map[string]any{"code": "1", "wait_seconds": 100})); a.Status != execution.StatusOK {
							t.Errorf("%+v", a)
						}
					} else {
						call(t, session, "execute", map[string]any{"code": "1"})
						engine.anew("op_1")
						for range 3 {
							if a := structured(t, call(t, session, "get_operation", map[string]any{"operation_id": "op_1"})); a.Status != execution.StatusPendingApproval {
								t.Errorf("%+v", a)
							}
						}
					}
					if len(ids) != 2 || (ids[0] == ids[1]) != (era == "2026-07-28") {
						t.Errorf("offered as %q", ids)
					}
					if engine.submitted() != 1 {
						t.Errorf("%d operations", engine.submitted())
					}
				})
			})
		}
	}
}

func TestAQuestionOfAnotherCallIsNotOffered(t *testing.T) {
	for _, era := range eras() {
		engine := newAsking()
		id, err := engine.Submit(t.Context(), execution.Request{Principal: execution.Local, Language: execution.Python, Code: "1"})
		if err != nil {
			t.Fatal(err)
		}
		s, _ := newServer(t, Config{Engine: engine, ApprovalPage: approvalPage(t)})
		session := connect(t, s, era, opens(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			t.Error("it was offered")
			return &mcp.ElicitResult{Action: "accept"}, nil
		}))
		if a := structured(t, call(t, session, "get_operation", map[string]any{"operation_id": string(id)})); a.Status != execution.StatusPendingApproval {
			t.Errorf("%s: %+v", era, a)
		}
	}
}
