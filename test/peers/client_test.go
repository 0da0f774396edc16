//go:build linux

package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// call is what a client sends to the tool execute.
type call struct {
	Code      string         `json:"code"`
	Language  string         `json:"language,omitempty"`
	Timeout   float64        `json:"timeout_seconds,omitempty"`
	Wait      *float64       `json:"wait_seconds,omitempty"`
	Stdin     string         `json:"stdin,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
	Files     []file         `json:"files,omitempty"`
}

type file struct {
	Path   string `json:"path"`
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"`
}

// answer is the structured content of a tool's result.
type answer struct {
	Status      string          `json:"status"`
	OperationID string          `json:"operation_id"`
	ExitCode    int             `json:"exit_code"`
	Stdout      string          `json:"stdout"`
	Stderr      string          `json:"stderr"`
	Signal      string          `json:"signal"`
	Value       json.RawMessage `json:"value"`
	ValueType   string          `json:"value_type"`
	Error       *struct {
		Code      string   `json:"code"`
		Message   string   `json:"message"`
		Field     string   `json:"field"`
		Traceback []string `json:"traceback"`
	} `json:"error"`
	DurationMS float64 `json:"duration_ms"`
	MemoryPeak int64   `json:"memory_peak_bytes"`
	Truncated  map[string]struct {
		Total int64 `json:"total_bytes"`
		Kept  int64 `json:"kept_bytes"`
	} `json:"truncated"`
	Lossy     bool     `json:"lossy"`
	Isolation string   `json:"isolation"`
	Warnings  []string `json:"warnings"`

	text string          // the text content: what a model without structured content reads
	raw  json.RawMessage // the structured content as it came
}

// client is one MCP session with a server of its own. It may be used by many
// goroutines.
type client struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr strings.Builder
	done   chan struct{} // closed when the server's output has ended

	mu      sync.Mutex // guards what follows, and writing
	next    int
	waiting map[int]chan message
	broken  error

	always []string // the warnings that every answer of this server has, as at a weaker level of isolation
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// connect starts gearbox serve and greets it. The session ends with the test.
func connect(t *testing.T, args ...string) *client {
	t.Helper()
	// The test's context ends before its clean-up, in which the server ends in order.
	c := &client{
		cmd:  exec.CommandContext(context.WithoutCancel(t.Context()), binary(t), append([]string{"serve"}, args...)...),
		done: make(chan struct{}), waiting: map[int]chan message{},
	}
	c.cmd.Env = environment()
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(out)
	t.Cleanup(func() { c.end(t) })
	hello := map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "peers", "version": "1"},
	}
	if _, err := c.request("initialize", hello); err != nil {
		t.Fatal(err)
	}
	if err := c.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		t.Fatal(err)
	}
	return c
}

// read hands each answer to whoever waits for it. Anything on stdout that is not
// JSON-RPC, or answers nobody, breaks the session.
func (c *client) read(r io.Reader) {
	defer close(c.done)
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			c.fail(fmt.Errorf("the server ended its output: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			c.fail(fmt.Errorf("stdout has the line %.200q", line))
			continue
		}
		if m.Method != "" {
			continue
		}
		c.mu.Lock()
		ch := c.waiting[*m.ID]
		delete(c.waiting, *m.ID)
		c.mu.Unlock()
		if ch == nil {
			c.fail(fmt.Errorf("an answer that nobody asked for: %.200q", line))
			continue
		}
		ch <- m
	}
}

// fail gives up: every request that waits, and every later one, gets the error.
func (c *client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
	for id, ch := range c.waiting {
		delete(c.waiting, id)
		close(ch)
	}
}

func (c *client) write(m any) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.stdin.Write(append(line, '\n'))
	return err
}

// request sends one request and waits for its result.
func (c *client) request(method string, params any) (json.RawMessage, error) {
	ch := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	broken := c.broken
	if broken == nil {
		c.waiting[id] = ch
	}
	c.mu.Unlock()
	if broken != nil {
		return nil, broken
	}
	if err := c.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	m, ok := <-ch
	switch {
	case !ok:
		return nil, c.broken
	case m.Error != nil:
		return nil, fmt.Errorf("%s: %s", method, m.Error)
	}
	return m.Result, nil
}

// tool calls a tool and reads its structured answer.
func (c *client) tool(t *testing.T, name string, args any) answer {
	t.Helper()
	raw, err := c.request("tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	a := answer{raw: r.Structured}
	if err := json.Unmarshal(r.Structured, &a); err != nil {
		t.Fatalf("%v in %.500s", err, r.Structured)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" || r.Content[0].Text == "" {
		t.Errorf("the content is %+v, want one text", r.Content)
	} else {
		a.text = r.Content[0].Text
	}
	if failed := a.Status != "ok" && a.Status != "running"; r.IsError != failed {
		t.Errorf("isError is %v with the status %s", r.IsError, a.Status)
	}
	a.Warnings = slices.DeleteFunc(a.Warnings, func(w string) bool { return slices.Contains(c.always, w) })
	return a
}

func (c *client) execute(t *testing.T, a call) answer {
	t.Helper()
	return c.tool(t, "execute", a)
}

// end closes the server's input and expects an orderly end.
func (c *client) end(t *testing.T) {
	c.mu.Lock()
	err := c.stdin.Close()
	c.mu.Unlock()
	<-c.done
	if waitErr := c.cmd.Wait(); err != nil || waitErr != nil {
		t.Errorf("serve ended with %v, %v", err, waitErr)
	}
	for line := range strings.Lines(c.stderr.String()) {
		if strings.Contains(line, `"level":"ERROR"`) || !strings.HasPrefix(line, "{") {
			t.Errorf("the server's log says %s", line)
		}
	}
}
