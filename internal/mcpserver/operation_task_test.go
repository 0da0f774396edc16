package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const (
	knowsTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	knowsNone  = `{}`
)

// taskMessage is what the SDK has no types for.
type taskMessage struct {
	ResultType, TaskID, Status, StatusMessage string
	CreatedAt, LastUpdatedAt                  string
	TTLMs, PollIntervalMs                     int64
	Result                                    *toolResult
	Content                                   []any
	StructuredContent                         *execution.Result
	InputRequests, Error                      any
}

type taskReply struct {
	Result *taskMessage
	Error  *struct {
		Code int
		Data any
	}
}

// modern makes a request of the version without sessions.
func modern(method, params, capabilities string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
		capabilities + `,"io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"}}}}`
}

func decodeTask(t *testing.T, message []byte) taskReply {
	t.Helper()
	var a taskReply
	if err := json.Unmarshal(message, &a); err != nil {
		t.Fatalf("%v: %s", err, message)
	}
	return a
}

// asker sends a request as a principal.
type asker func(principal, method, params, capabilities string) taskReply

// overBoth runs a test over stdio, where there is one principal, and over HTTP.
func overBoth(t *testing.T, e *askingEngine, test func(t *testing.T, ask asker, principals []string)) {
	t.Run("stdio", func(t *testing.T) {
		s, _ := newServer(t, Config{Engine: e})
		w := dial(t, s)
		test(t, func(_, method, params, capabilities string) taskReply {
			w.send(modern(method, params, capabilities))
			return decodeTask(t, w.receive())
		}, []string{""})
	})
	t.Run("HTTP", func(t *testing.T) {
		s, _ := newServer(t, Config{Engine: e})
		callers := twoCallers()
		callers["d"] = execution.Caller{Principal: "token:d"}
		srv := overHTTPServer(t, s, callers)
		test(t, func(principal, method, params, capabilities string) taskReply {
			return post(t, srv.URL, principal, method, params, capabilities, nil)
		}, []string{"", "d", "b"})
	})
}

func post(t *testing.T, url, principal, method, params, capabilities string, change func(http.Header)) taskReply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(modern(method, params, capabilities)))
	if err != nil {
		t.Fatal(err)
	}
	var named struct{ Name, TaskID string }
	if err := json.Unmarshal([]byte("{"+params+"}"), &named); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", bearerOf: principal,
		versionHeader: "2026-07-28", methodHeader: method, "Mcp-Name": named.Name + named.TaskID,
	} {
		req.Header.Set(key, value)
	}
	if change != nil {
		change(req.Header)
	}
	res, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, data, ok := bytes.Cut(body, []byte("data: ")); ok {
		body, _, _ = bytes.Cut(data, []byte("\n"))
	}
	return decodeTask(t, body)
}

const callExecute = `"name":"execute","arguments":{"code":"1"}`

func taskID(id string) string { return `"taskId":"` + id + `"` }

func TestACallThatAHumanIsAskedAboutIsATaskForClientsThatKnowTasks(t *testing.T) {
	engine := newAsking()
	overBoth(t, engine, func(t *testing.T, ask asker, _ []string) {
		begun := ask("", "tools/call", callExecute, knowsTasks).Result
		if begun.ResultType != "task" || begun.Status != "working" || begun.TaskID == "" || begun.Content != nil || begun.Result != nil || begun.TTLMs <= 0 || begun.PollIntervalMs <= 0 {
			t.Fatalf("%+v", begun)
		}
		for _, part := range []string{"Waiting for your user's approval", "run(mount) in line 2", "gearbox approvals show " + begun.TaskID} {
			if !strings.Contains(begun.StatusMessage, part) {
				t.Errorf("%q does not say %q", begun.StatusMessage, part)
			}
		}
		got := ask("", "tasks/get", taskID(begun.TaskID), knowsTasks).Result
		if got.ResultType != "complete" || got.Status != "working" || got.StatusMessage != begun.StatusMessage || got.InputRequests != nil || got.CreatedAt == got.LastUpdatedAt {
			t.Errorf("%+v", got)
		}
		// Whatever is said to the task decides nothing.
		for _, said := range []string{
			`{"approval":{"action":"accept","content":{"approve":true}}}`, `{"decision":"approved"}`, `{}`,
		} {
			if a := ask("", "tasks/update", taskID(begun.TaskID)+`,"inputResponses":`+said, knowsTasks); a.Error != nil || a.Result.ResultType != "complete" {
				t.Errorf("%s: %+v", said, a)
			}
		}
		if got := ask("", "tasks/get", taskID(begun.TaskID), knowsTasks).Result; got.Status != "working" {
			t.Errorf("an update changed it: %+v", got)
		}
		engine.end(execution.ID(begun.TaskID), done("it ran\n"))
		got = ask("", "tasks/get", taskID(begun.TaskID), knowsTasks).Result
		if got.Status != "completed" || got.Result == nil || got.Result.text() != "it ran\n" || got.Result.answer(t).Status != execution.StatusOK {
			t.Errorf("%+v", got)
		}
	})
}

func TestATaskIsCancelledAndThenTellsSo(t *testing.T) {
	engine := newAsking()
	overBoth(t, engine, func(t *testing.T, ask asker, _ []string) {
		id := ask("", "tools/call", callExecute, knowsTasks).Result.TaskID
		for range 2 {
			if a := ask("", "tasks/cancel", taskID(id), knowsTasks); a.Error != nil || a.Result.ResultType != "complete" || a.Result.TaskID != "" {
				t.Errorf("%+v", a)
			}
		}
		if got := ask("", "tasks/get", taskID(id), knowsTasks).Result; got.Status != "cancelled" || got.Result != nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestADeniedCallIsACompletedTaskWithTheReason(t *testing.T) {
	engine := newAsking()
	overBoth(t, engine, func(t *testing.T, ask asker, _ []string) {
		id := ask("", "tools/call", callExecute, knowsTasks).Result.TaskID
		engine.end(execution.ID(id), execution.Result{Status: execution.StatusDenied, ExitCode: -1, Stderr: "The user said no.", Permissions: []string{"run(mount) in line 2"}})
		got := ask("", "tasks/get", taskID(id), knowsTasks).Result
		if got.Status != "completed" || !got.Result.IsError || !strings.Contains(got.Result.text(), "The user said no.") {
			t.Errorf("%+v", got)
		}
	})
}

func TestTasksAreThereForThoseWhoDeclareThemAndForTheirOwnPrincipal(t *testing.T) {
	engine := newAsking()
	overBoth(t, engine, func(t *testing.T, ask asker, principals []string) {
		plain := ask("", "tools/call", callExecute, knowsNone).Result
		if plain.ResultType != "complete" || plain.TaskID != "" || plain.StructuredContent.Status != execution.StatusPendingApproval {
			t.Errorf("without the extension: %+v", plain)
		}
		id := ask("", "tools/call", callExecute, knowsTasks).Result.TaskID
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if a := ask("", method, taskID(id), knowsNone); a.Error == nil || a.Error.Code != -32021 || a.Error.Data == nil {
				t.Errorf("%s without the extension: %+v", method, a)
			}
			for _, unknown := range []string{"op_unknown", "../" + id} {
				if a := ask("", method, taskID(unknown), knowsTasks); a.Error == nil || a.Error.Code != -32602 {
					t.Errorf("%s of %s: %+v", method, unknown, a)
				}
			}
			for _, p := range principals[1:] {
				if a := ask(p, method, taskID(id), knowsTasks); a.Error == nil || a.Error.Code != -32602 {
					t.Errorf("%s by %s: %+v", method, p, a)
				}
			}
		}
		if got := ask("", "tasks/get", taskID(id), knowsTasks).Result; got.Status != "working" {
			t.Errorf("a stranger changed it: %+v", got)
		}
		if len(principals) > 1 { // b has no right to ask about operations
			if a := ask("b", "tools/call", callExecute, knowsTasks); a.Result.ResultType != "complete" {
				t.Errorf("a task for one who may not ask about it: %+v", a.Result)
			}
		}
	})
}

func TestTheHeaderOfATaskHasToNameIt(t *testing.T) {
	s, _ := newServer(t, Config{Engine: newAsking()})
	srv := overHTTPServer(t, s, twoCallers())
	id := post(t, srv.URL, "", "tools/call", callExecute, knowsTasks, nil).Result.TaskID
	for _, name := range []string{"", "op_other"} {
		a := post(t, srv.URL, "", "tasks/get", taskID(id), knowsTasks, func(h http.Header) { h.Set("Mcp-Name", name) })
		if a.Error == nil || a.Error.Code != -32020 {
			t.Errorf("%q: %+v", name, a)
		}
	}
}

func TestTheVersionsWithSessionsHaveNoTasks(t *testing.T) {
	s, _ := newServer(t, Config{Engine: newAsking()})
	w := dial(t, s)
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + knowsTasks + `,"clientInfo":{"name":"wire","version":"1"}}}`)
	if said := w.receive(); bytes.Contains(said, []byte("io.modelcontextprotocol/tasks")) {
		t.Errorf("announced: %s", said)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + callExecute + `}}`)
	if a := decodeTask(t, w.receive()); a.Result.ResultType == "task" {
		t.Errorf("%+v", a.Result)
	}
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{` + taskID("op_1") + `}}`)
	if a := decodeTask(t, w.receive()); a.Error == nil || a.Error.Code != -32601 {
		t.Errorf("%+v", a)
	}
}
