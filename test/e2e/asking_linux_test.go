package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// asking is a program that a human is asked about.
const asking = "import subprocess\nprint(subprocess.run(['mount', '--version'], capture_output=True, text=True).stdout)"

// decisionPage is where the servers of these tests have their users decide.
const decisionPage = "https://approve.example/questions"

// asker is a client of a real server, and its user in another process.
type asker struct {
	t       *testing.T
	dir     string
	session *mcp.ClientSession
	updated chan string
	shown   chan *mcp.ElicitParams
}

// TestAnAgentAsksAndItsUserDecides has the user decide in a process of their own, as they
// do. Each part is played over each transport and in each era, on one data directory.
func TestAnAgentAsksAndItsUserDecides(t *testing.T) {
	dir := t.TempDir()
	if _, _, exit := gearboxIn(t, dir, "exec", "-c", "import subprocess; subprocess.run('true')"); exit != 0 {
		t.Skip("skipped: nothing runs on this machine: gearbox doctor says why")
	}
	w := startHTTP(t, 1, "--http", "127.0.0.1:0", "--data-dir", dir, "--approvals-page", decisionPage)
	defer w.stop(unix.SIGTERM)
	for name, transport := range map[string]func() mcp.Transport{
		"stdio": func() mcp.Transport {
			return &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), "gearbox", "serve", "--data-dir", dir, "--approvals-page", decisionPage)}
		},
		"HTTP": func() mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: w.addresses[0] + "/mcp"} },
	} {
		for _, era := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+era, func(t *testing.T) {
				a := &asker{t: t, dir: dir, updated: make(chan string, 100), shown: make(chan *mcp.ElicitParams, 10)}
				a.connect(transport(), era)
				a.isAnsweredAtOnce()
				a.waits()
			})
		}
	}
	t.Run("task", func(t *testing.T) { (&asker{t: t, dir: dir}).makesATask(w.addresses[0] + "/mcp") })
}

func (a *asker) connect(transport mcp.Transport, era string) {
	a.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { a.updated <- r.Params.URI },
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.shown <- r.Params
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	var err error
	a.session, err = client.Connect(a.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = a.session.Close() })
}

// call returns the structured answer and the text.
func (a *asker) call(name string, arguments map[string]any) (map[string]any, string) {
	a.t.Helper()
	res, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		a.t.Fatal(err)
	}
	return res.StructuredContent.(map[string]any), res.Content[0].(*mcp.TextContent).Text
}

// user runs a command of the user.
func (a *asker) user(args ...string) {
	a.t.Helper()
	if out, errOut, exit := gearboxIn(a.t, a.dir, append([]string{"approvals"}, args...)...); exit != 0 {
		a.t.Errorf("gearbox approvals %s: exit code %d: %s%s", strings.Join(args, " "), exit, out, errOut)
	}
}

// isAnsweredAtOnce has an agent go on, and learn of the decision later.
func (a *asker) isAnsweredAtOnce() {
	t := a.t
	t.Helper()
	answer, text := a.call("execute", map[string]any{"code": asking})
	id, _ := answer["operation_id"].(string)
	if answer["status"] != "pending_approval" || id == "" || !strings.Contains(text, "- run(mount) in line 2") || !strings.Contains(text, id) || !strings.Contains(text, "Tell your user") {
		t.Fatalf("%v\n%s", answer, text)
	}
	if shown := <-a.shown; shown.URL != decisionPage+"?operation_id="+id {
		t.Errorf("the user was shown %+v", shown)
	}
	uri := "operation://" + id
	if err := a.session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	if answer, _ := a.call("get_operation", map[string]any{"operation_id": id}); answer["status"] != "pending_approval" {
		t.Errorf("accepting the page decided: %v", answer)
	}
	a.user("approve", id, "--yes")
	if told := <-a.updated; told != uri {
		t.Errorf("told of %s", told)
	}
	answer, _ = a.call("get_operation", map[string]any{"operation_id": id, "wait_seconds": 60})
	if stdout, _ := answer["stdout"].(string); answer["status"] != "ok" || !strings.Contains(stdout, "mount") {
		t.Errorf("%v", answer)
	}
	read, err := a.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || !strings.Contains(read.Contents[0].Text, `"status":"ok"`) {
		t.Errorf("%v, %v", read, err)
	}
	if len(a.shown) != 0 {
		t.Error("the client was asked again")
	}
}

// waits has an agent wait for the result, or for the user's words.
func (a *asker) waits() {
	t := a.t
	t.Helper()
	decide := func(args ...string) {
		shown := <-a.shown // by then the question stands
		_, id, _ := strings.Cut(shown.URL, "operation_id=")
		a.user(append([]string{args[0], id}, args[1:]...)...)
	}
	decided := make(chan struct{})
	go func() {
		defer close(decided)
		decide("approve", "--yes")
	}()
	if answer, _ := a.call("execute", map[string]any{"code": asking, "wait_seconds": 120}); answer["status"] != "ok" {
		t.Errorf("%v", answer)
	}
	<-decided
	decided = make(chan struct{})
	go func() {
		defer close(decided)
		decide("deny", "--message", "use pathlib")
	}()
	answer, text := a.call("execute", map[string]any{"code": asking, "wait_seconds": 120})
	if answer["status"] != "denied" || !strings.Contains(text, "use pathlib") {
		t.Errorf("%v\n%s", answer, text)
	}
	<-decided
}

// makesATask writes its own messages: the SDK has no types for tasks.
func (a *asker) makesATask(url string) {
	t := a.t
	t.Helper()
	ask := func(method, name string, params map[string]any) map[string]any {
		t.Helper()
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "agent", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
		}
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		return post(t, url, method, name, body)
	}
	task := ask("tools/call", "execute", map[string]any{"name": "execute", "arguments": map[string]any{"code": asking}})
	id, _ := task["taskId"].(string)
	if message, _ := task["statusMessage"].(string); task["resultType"] != "task" || task["status"] != "working" || !strings.Contains(message, "run(mount) in line 2") {
		t.Fatalf("%v", task)
	}
	ask("tasks/update", id, map[string]any{"taskId": id, "inputResponses": map[string]any{"approval": map[string]any{"action": "accept"}}})
	if task = ask("tasks/get", id, map[string]any{"taskId": id}); task["status"] != "working" {
		t.Errorf("%v", task)
	}
	a.user("approve", id, "--yes")
	for task["status"] == "working" && t.Context().Err() == nil {
		<-time.After(100 * time.Millisecond) // as the task says
		task = ask("tasks/get", id, map[string]any{"taskId": id})
	}
	result, _ := task["result"].(map[string]any)
	if text, _ := json.Marshal(result); task["status"] != "completed" || !bytes.Contains(text, []byte("mount")) {
		t.Errorf("%v", task)
	}
}

// post sends a request of the version without sessions and returns its result.
func post(t *testing.T, url, method, name string, body []byte) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(key, value)
	}
	res, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, data, ok := bytes.Cut(text, []byte("data: ")); ok {
		text, _, _ = bytes.Cut(data, []byte("\n"))
	}
	var said struct{ Result map[string]any }
	if err := json.Unmarshal(text, &said); err != nil || said.Result == nil {
		t.Fatalf("%s: %s (%v)", method, text, err)
	}
	return said.Result
}
