//go:build linux

package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// servers are entries of a configuration file by their names.
type servers map[string]map[string]any

// file writes a configuration file.
func (s servers) file(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "servers.json")
	write(t, name, marshal(t, map[string]any{"mcpServers": s}))
	return name
}

// log is what a process wrote to standard error.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// box is a running gearbox serve with a client of the SDK.
type box struct {
	*mcp.ClientSession

	t    testing.TB
	dir  string
	log  *log
	cmd  *exec.Cmd
	gone chan struct{}
}

// setting is how a box is started.
type setting struct {
	servers servers
	env     []string
	flags   []string // besides those of the data directory and the servers
	asks    bool     // calls are not allowed beforehand
}

// open starts a server and greets it. It ends with the test.
func open(t testing.TB, s setting) *box {
	t.Helper()
	b := &box{t: t, dir: dataDir(t), log: &log{}, gone: make(chan struct{})}
	args := []string{"serve", "--data-dir", b.dir, "--mcp-servers", s.servers.file(t)}
	if !s.asks {
		args = append(args, "--allow", "tool(**)")
	}
	b.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), gearbox(t), append(args, s.flags...)...)
	b.cmd.Env, b.cmd.Stderr = environment(s.env...), b.log
	stdin, err := b.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, w, err := os.Pipe() // Wait would close one of its own too early
	if err != nil {
		t.Fatal(err)
	}
	b.cmd.Stdout = w
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		_ = b.cmd.Wait() // how it ended shows in what it did
		close(b.gone)
	}()
	t.Cleanup(func() { b.end(stdin, stdout) })
	client := mcp.NewClient(&mcp.Implementation{Name: "codemode", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if b.ClientSession, err = client.Connect(ctx, &mcp.IOTransport{Reader: stdout, Writer: stdin}, nil); err != nil {
		t.Fatalf("greet the server: %v\n%s", err, b.log)
	}
	return b
}

// end has the server end as it does when its client goes.
func (b *box) end(stdin, stdout io.Closer) {
	_ = stdin.Close()
	<-b.gone
	_ = stdout.Close()
}

// answer is what these tests read of a structured answer.
type answer struct {
	Status    string          `json:"status"`
	Operation string          `json:"operation_id"`
	Value     json.RawMessage `json:"value"`
	Stdout    string          `json:"stdout"`
	Stderr    string          `json:"stderr"`
	Summary   string          `json:"summary"`
	Hint      string          `json:"approve_hint"`
	Calls     []struct {
		Tool   string `json:"tool"`
		Status string `json:"status"`
		Error  string `json:"error"`
	} `json:"tool_calls"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`

	text string          // what a model reads
	raw  json.RawMessage // as it came
}

// use calls a tool of ours.
func (b *box) use(tool string, arguments map[string]any) answer {
	b.t.Helper()
	a, err := b.try(b.t.Context(), tool, arguments)
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", tool, err, b.log)
	}
	return a
}

func (b *box) try(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := b.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return answer{}, err
	}
	var a answer
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			a.text += text.Text
		}
	}
	structured := res.StructuredContent
	if structured == nil {
		structured = res.Meta["gearbox/answer"]
	}
	if a.raw, err = json.Marshal(structured); err == nil && structured != nil {
		err = json.Unmarshal(a.raw, &a)
	}
	return a, err
}

// limits are those of a run that does much: a slow machine is no failure.
const timeout = 60

// execute runs a program, whatever comes of it.
func (b *box) execute(code string, variables map[string]any) answer {
	b.t.Helper()
	args := map[string]any{"code": code, "timeout_seconds": timeout, "wait_seconds": timeout}
	if variables != nil {
		args["variables"] = variables
	}
	return b.use("execute", args)
}

// value is the value of a program that has to end well.
func value[T any](b *box, code string, variables map[string]any) T {
	b.t.Helper()
	a := b.execute(code, variables)
	var v T
	if a.Status != "ok" {
		b.t.Fatalf("%s\n%s", a.raw, b.log)
	}
	if err := json.Unmarshal(a.Value, &v); err != nil {
		b.t.Fatalf("%v: %s", err, a.raw)
	}
	return v
}

// fails is the error of a program that has to end with one.
func (b *box) fails(code, class string) string {
	b.t.Helper()
	a := b.execute(code, nil)
	if a.Status != "error" || a.Error == nil || a.Error.Code != class {
		b.t.Fatalf("want %s: %s", class, a.raw)
	}
	return a.Error.Message
}

// has fails the test unless a text holds all of the words.
func has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("there is no %q in:\n%s", w, text)
		}
	}
}

// lacks fails the test if a text holds one of the words.
func lacks(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("there is %q in:\n%s", w, text)
		}
	}
}

// resource reads a resource of ours.
func (b *box) resource(uri string) string {
	b.t.Helper()
	res, err := b.ReadResource(b.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", uri, err, b.log)
	}
	return res.Contents[0].Text
}
