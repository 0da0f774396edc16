package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func connect(t testing.TB, s *Server, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, far) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(ctx, near, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		stop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return session
}

func TestEveryProtocolVersionOfTheSDKIsServed(t *testing.T) {
	versions := mcp.SupportedProtocolVersions()
	if !slices.Contains(versions, "2024-11-05") || !slices.Contains(versions, "2026-07-28") {
		t.Fatalf("the SDK no longer speaks both eras: %v", versions)
	}
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			engine := newEngine(map[string]execution.Result{"print(1)": {Status: execution.StatusOK, Stdout: "1\n"}})
			s, _ := newServer(t, Config{Engine: engine})
			res, err := connect(t, s, v, nil).CallTool(t.Context(), &mcp.CallToolParams{
				Name: "execute", Arguments: map[string]any{"code": "print(1)"},
			})
			if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != "1\n" {
				t.Fatal(res, err)
			}
			if got := engine.requests[0].Client; got.Name != "test" || got.Version != "1" {
				t.Errorf("the client is recorded as %+v", got)
			}
		})
	}
}

func TestUnknownProtocolVersionGetsOneOfOurs(t *testing.T) {
	s, _ := newServer(t, Config{})
	w := dial(t, s)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01","capabilities":{},"clientInfo":{"name":"w","version":"1"}}}`)
	if got := string(w.receive()); !strings.Contains(got, `"protocolVersion":"20`) {
		t.Error(got)
	}
}

// brokenEngine must never be reached.
type brokenEngine struct{ Engine }

func TestTheStartOfASessionWaitsForNothing(t *testing.T) {
	s, _ := newServer(t, Config{Engine: brokenEngine{}, Environment: brokenEnvironment{}})
	for _, v := range []string{"2025-11-25", "2026-07-28"} {
		session := connect(t, s, v, nil)
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if _, err := session.ListResources(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
}

func TestCancelledCallEndsTheOperation(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	w := dial(t, s)
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever"}}}`)
	id := <-engine.submitted
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	_, cancelled, _ := engine.find(id)
	<-cancelled
	// The server lives on.
	w.send(`{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
	for !strings.Contains(string(w.receive()), `"id":8`) {
	}
}

func TestGivingUpOnGetOperationLeavesTheOperation(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	session := connect(t, s, "2025-11-25", nil)
	call(t, session, "execute", map[string]any{"code": "forever", "wait_seconds": 0})
	id := <-engine.submitted
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: "get_operation", Arguments: map[string]any{"operation_id": id}})
	res := call(t, session, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 0})
	if a := structured(t, res); a.Status != execution.StatusRunning {
		t.Errorf("the operation is %s", a.Status)
	}
}

func TestBrokenConnectionLeavesTheOperation(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	w := dialOver(t, s, func(in *io.PipeReader, out *io.PipeWriter) mcp.Transport {
		return &mcp.IOTransport{Reader: in, Writer: out} // which does not hold the end back
	})
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever"}}}`)
	id := <-engine.submitted
	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-w.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	_, cancelled, _ := engine.find(id)
	select {
	case <-cancelled:
		t.Error("the operation was cancelled")
	default:
	}
}

func TestFailuresOfOurOwnAreToldToTheLogOnly(t *testing.T) {
	for _, code := range []string{"fail", "fail later", "panic"} {
		s, log := newServer(t, Config{})
		w := dial(t, s)
		w.initialize("2025-11-25")
		res := w.callTool("execute", string(mustJSON(t, map[string]any{"code": code})))
		if a := res.answer(t); a.Status != execution.StatusInternalError || !res.IsError {
			t.Errorf("%s: answered %+v", code, a)
		}
		if strings.Contains(res.text()+string(res.StructuredContent), "secret") {
			t.Errorf("%s: the answer tells the reason: %s", code, res.text())
		}
		if !strings.Contains(log.String(), "/home/operator/secret") {
			t.Errorf("%s: the log does not tell the reason: %s", code, log)
		}
	}
}

func TestBrokenEnvironmentIsToldToTheLogOnly(t *testing.T) {
	s, log := newServer(t, Config{Environment: brokenEnvironment{}})
	session := connect(t, s, "2025-11-25", nil)
	for _, uri := range []string{"env://info", "env://packages", "env://gear"} {
		_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
		if !strings.Contains(log.String(), "read "+uri) {
			t.Errorf("%s: nothing in the log", uri)
		}
	}
}

func TestTheLogHoldsNoCodeAndNoOutput(t *testing.T) {
	script := map[string]execution.Result{"print('hunter2')": {Status: execution.StatusOK, Stdout: "hunter2\n"}}
	s, log := newServer(t, Config{Engine: newEngine(script)})
	call(t, connect(t, s, "2025-11-25", nil), "execute", map[string]any{"code": "print('hunter2')"})
	if got := log.String(); strings.Contains(got, "hunter2") || !strings.Contains(got, `"operation_id":"op_1","status":"ok"`) {
		t.Error(got)
	}
}

func TestTwoMegabytesOfSourceAreRejected(t *testing.T) {
	s, _ := newServer(t, Config{})
	session := connect(t, s, "2025-11-25", nil)
	res := call(t, session, "execute", map[string]any{"code": strings.Repeat("#", 2<<20)})
	if a := structured(t, res); a.Status != execution.StatusRejected || a.Error.Field != "code" || !res.IsError {
		t.Errorf("answered %+v", a)
	}
}

func TestConfigurationErrorsAreNamed(t *testing.T) {
	s, _ := newServer(t, Config{})
	base := Config{Engine: s.engine, Records: s.records, Environment: s.environment, Logger: s.log}
	for want, change := range map[string]func(*Config){
		"required": func(c *Config) { c.Engine = nil },
		`unknown compatibility profile "another": use one of python-interpreter, mcp-run-python, code-mode`: func(c *Config) { c.Compat = []string{"another"} },
		"run_script would be added twice": func(c *Config) { c.Compat = []string{"python-interpreter", "python-interpreter"} },
	} {
		c := base
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestSchemasNameExactlyTheArgumentsThatAreRead(t *testing.T) {
	s, _ := newServer(t, Config{Compat: Profiles()})
	reads := map[string]any{
		"execute": new(execution.Arguments), "get_operation": new(getArguments), "cancel_operation": new(cancelArguments),
		"list_packages": new(packagesArguments), "run_script": new(scriptArguments), "run_python_code": new(runPythonArguments),
		"execute_code": new(executeCodeArguments),
	}
	list, err := connect(t, s, "2025-11-25", nil).ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(reads) {
		t.Fatal(list, err)
	}
	for _, tool := range list.Tools {
		var schema struct {
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(mustJSON(t, tool.InputSchema), &schema); err != nil {
			t.Fatal(err)
		}
		want := accepted(reads[tool.Name], "")
		for name := range schema.Properties {
			if !slices.Contains(want, name) {
				t.Errorf("%s: the schema has %s, which is not read", tool.Name, name)
			}
		}
		if len(want) != len(schema.Properties) {
			t.Errorf("%s: read are %v, the schema has %d properties", tool.Name, want, len(schema.Properties))
		}
		if tool.OutputSchema != nil {
			t.Errorf("%s declares an output schema", tool.Name)
		}
	}
}

func call(t testing.TB, s *mcp.ClientSession, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func structured(t testing.TB, r *mcp.CallToolResult) execution.Result {
	t.Helper()
	var a execution.Result
	if err := json.Unmarshal(mustJSON(t, r.StructuredContent), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// BenchmarkEdge is what a call costs here: reading, decoding, answering, without any run.
func BenchmarkEdge(b *testing.B) {
	s, _ := newServer(b, Config{Engine: instantEngine{}})
	w := dial(b, s)
	w.initialize("2025-11-25")
	b.ReportAllocs()
	for b.Loop() {
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"code":"print(1)"}}}`)
		w.receive()
	}
}

// instantEngine has answered before it was asked.
type instantEngine struct{ Engine }

func (instantEngine) Submit(context.Context, execution.Request) (execution.ID, error) {
	return "op_1", nil
}

func (e instantEngine) WaitUnlessAsked(ctx context.Context, p execution.Principal, id execution.ID, d time.Duration) (execution.Result, error) {
	return e.Wait(ctx, p, id, d)
}

func (instantEngine) Wait(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error) {
	return execution.Result{Status: execution.StatusOK, OperationID: "op_1", Stdout: "1\n"}, nil
}
