//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// echoServer is a server whose tool say answers its arguments, and whose tool fail fails.
type echoServer struct {
	readOnly bool
	changed  string

	mu    sync.Mutex
	calls []string
}

func (s *echoServer) Prepare(_ context.Context, _, name string, arguments json.RawMessage) (engine.Prepared, error) {
	server, raw, _ := strings.Cut(name, ".")
	if server != "echo" {
		return engine.Prepared{}, &tool.Error{Class: tool.NotFound, Message: "there is no tool " + name}
	}
	return engine.Prepared{
		Entry: catalog.Entry{Definition: tool.Definition{Server: server, Name: raw}, Pin: execution.DigestOf([]byte(name))}, Arguments: arguments,
		ReadOnly: s.readOnly, Changed: s.changed, Before: execution.DigestOf([]byte("before")),
	}, nil
}

func (s *echoServer) Perform(_ context.Context, p engine.Prepared, permit authz.Permit) (engine.Answered, error) {
	if !permit.Use(p.Subject) {
		return engine.Answered{}, &tool.Error{Class: tool.Denied, Message: "no permit"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, p.ID()+string(p.Arguments))
	if p.Entry.Definition.Name == "fail" {
		return engine.Answered{}, &tool.Error{Class: tool.Failed, Message: "it says no"}
	}
	return engine.Answered{
		Head: bridge.AnswerHead{Form: bridge.FormJSON}, Body: p.Arguments,
		Result: tool.Result{Structured: p.Arguments, Blocks: []tool.Block{{Kind: tool.Text, Text: "echoed"}, {Kind: tool.Image, MIME: "image/png", Data: []byte{1}}}},
	}, nil
}

func (*echoServer) Ask(context.Context, bridge.CallHead) (bridge.AnswerHead, []byte) {
	return bridge.AnswerHead{Form: bridge.FormNone}, nil
}

func (s *echoServer) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func newToolBench(t *testing.T, s *echoServer, c benchConfig) *bench {
	t.Helper()
	b := newBench(t, c)
	b.config.Tools = s
	b.engine = b.another(t)
	return b
}

func callOf(t *testing.T, name, arguments string) execution.Request {
	t.Helper()
	source, err := execution.Call{Tool: name, Arguments: json.RawMessage(arguments)}.Source()
	if err != nil {
		t.Fatal(err)
	}
	return execution.Request{Language: execution.Tool, Code: source}
}

func TestACallOfAToolIsDecidedRecordedAndAnsweredAsARunIs(t *testing.T) {
	s := &echoServer{readOnly: true}
	b := newToolBench(t, s, benchConfig{})
	r := b.wait(b.submit(callOf(t, "echo.say", `{"a": 1}`)))
	if r.Status != execution.StatusOK || r.Stdout != "" || len(r.Attachments) != 1 || r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	var value map[string]int
	if err := json.Unmarshal(r.Value, &value); err != nil || value["a"] != 1 {
		t.Errorf("%s: %v", r.Value, err)
	}
	want := []audit.Type{audit.Requested, audit.Decided, audit.Started, audit.ToolCall, audit.ToolCall, audit.Finished}
	if got := b.events.types(); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
	if r := b.wait(b.submit(callOf(t, "echo.fail", `{}`))); r.Status != execution.StatusError || r.Error.Code != "ToolError" || r.Error.Message != "it says no" {
		t.Errorf("%+v", r)
	}
	if r := b.wait(b.submit(callOf(t, "nobody.say", `{}`))); r.Status != execution.StatusError || r.Error.Code != "ToolNotFound" {
		t.Errorf("%+v", r)
	}
}

func TestACallThatTheRulesAskAboutIsMadeAfterAYes(t *testing.T) {
	s := &echoServer{}
	b := newToolBench(t, s, benchConfig{patience: time.Hour})
	id := b.submit(callOf(t, "echo.say", `{"text":"hi"}`))
	b.until(id, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval })
	q := b.question(id)
	if q.Asked[0].String() != "tool(echo.say)" || q.Asked[0].Allow != "tool(echo.say)" || len(s.made()) != 0 {
		t.Fatalf("%+v, called %v", q, s.made())
	}
	if err := b.desk().Decide(t.Context(), yes(id, q)); err != nil {
		t.Fatal(err)
	}
	b.resume()
	if r := b.wait(id); r.Status != execution.StatusOK || len(s.made()) != 1 {
		t.Errorf("%+v, called %v", r, s.made())
	}
}

func TestAChangedToolIsShownToAHumanEvenWhereTheRulesAllowIt(t *testing.T) {
	s := &echoServer{readOnly: true, changed: "Its description changed."}
	b := newToolBench(t, s, benchConfig{patience: time.Hour})
	id := b.submit(callOf(t, "echo.say", `{}`))
	b.until(id, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval })
	if q := b.question(id); q.Asked[0].Reason != s.changed || q.Asked[0].Allow != "" {
		t.Errorf("%+v", q)
	}
	if len(s.made()) != 0 {
		t.Error("it was called")
	}
	if err := b.desk().Decide(t.Context(), yes(id, b.question(id))); err != nil {
		t.Fatal(err)
	}
	b.resume()
	if r := b.wait(id); r.Status != execution.StatusOK || len(s.made()) != 1 {
		t.Errorf("%+v, called %v", r, s.made())
	}
	// That the change is accepted is in the record, before it is done.
	all, types := b.events.all(), b.events.types()
	at := slices.Index(types, audit.Config)
	if at < 0 || at > slices.Index(types, audit.ToolCall) {
		t.Fatalf("recorded %v", types)
	}
	if e := all[at]; e.Operation != id || e.Permission != "tool(echo.say)" || e.Details["definition_before"] != execution.DigestOf([]byte("before")).String() ||
		e.Details["definition"] != execution.DigestOf([]byte("echo.say")).String() || !strings.Contains(e.Reason, "accepted a changed definition") {
		t.Errorf("%+v", e)
	}
}

func TestWithNobodyToAskACallIsRefusedWithTheRuleThatWouldPermitIt(t *testing.T) {
	s := &echoServer{}
	b := newToolBench(t, s, benchConfig{})
	r := b.wait(b.submit(callOf(t, "echo.say", `{}`)))
	if r.Status != execution.StatusDenied || r.Error.Violations[0].Allow != "tool(echo.say)" || len(s.made()) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestACallWhoseRunIsGoneIsNotMade(t *testing.T) {
	s := &echoServer{readOnly: true}
	b := newToolBench(t, s, benchConfig{})
	r := callOf(t, "echo.say", `{}`)
	r.Code = strings.Replace(r.Code, "\n}", ",\n  \"run\": \"op_gone\"\n}", 1)
	if res := b.wait(b.submit(r)); res.Status != execution.StatusInterrupted || len(s.made()) != 0 {
		t.Errorf("%+v", res)
	}
}

func TestWithoutServersThereAreNoToolsToCall(t *testing.T) {
	b := newBench(t, benchConfig{})
	if r := b.wait(b.submit(callOf(t, "echo.say", `{}`))); r.Status != execution.StatusError || r.Error.Code != "ServerUnavailable" {
		t.Errorf("%+v", r)
	}
}
