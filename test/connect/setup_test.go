package connect

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

	"github.com/gearbox-mcp/gearbox/internal/cli"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// program is how the test's own binary is told to be gearbox.
const program = "GEARBOX_TEST_IS_GEARBOX"

// TestMain lets the test binary stand in for gearbox, sandbox processes included.
func TestMain(m *testing.M) {
	sidecar.Reexec()
	if os.Getenv(program) != "" {
		os.Exit(cli.Process())
	}
	code := m.Run()
	if shared != "" {
		_ = os.RemoveAll(shared)
	}
	os.Exit(code)
}

// eras are the protocol versions that stand for both ways to speak.
var eras = []string{"2025-11-25", "2026-07-28"}

// gearbox prepares a command of the product.
func gearbox(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), program+"=1", "HOME="+home(t), "GEARBOX_TOKEN=")
	return cmd
}

// home holds one unpacked interpreter for all tests.
func home(t *testing.T) string {
	t.Helper()
	sharedOnce.Do(func() { shared, sharedErr = os.MkdirTemp("", "gearbox-connect-") })
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return shared
}

var (
	sharedOnce sync.Once
	shared     string
	sharedErr  error
)

// tail keeps what a process writes to standard error.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{} // gets a value when something was written
}

func newTail() *tail { return &tail{news: make(chan struct{}, 1)} }

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until a line holds all of the words.
func (l *tail) await(t *testing.T, ended <-chan struct{}, words ...string) string {
	t.Helper()
	for {
		for line := range strings.Lines(l.String()) {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				return line
			}
		}
		select {
		case <-l.news:
		case <-ended:
			t.Fatalf("it ended without saying %q:\n%s", words, l)
		case <-t.Context().Done():
			t.Fatalf("it never said %q:\n%s", words, l)
		}
	}
}

// server is a running gearbox serve.
type server struct {
	cmd   *exec.Cmd
	dir   string
	log   *tail
	ended chan struct{}
}

// address is the URL at which it listens.
func (s *server) address(t *testing.T) string {
	t.Helper()
	var line struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal([]byte(s.log.await(t, s.ended, "answering over HTTP")), &line); err != nil {
		t.Fatal(err)
	}
	return line.Address
}

// serve starts a server and waits until it listens.
func serve(t *testing.T, dir string, flags ...string) *server {
	t.Helper()
	s := &server{dir: dir, cmd: gearbox(t, append([]string{"serve", "--data-dir", dir}, flags...)...), log: newTail(), ended: make(chan struct{})}
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() { s.kill(t) })
	s.log.await(t, s.ended, "answering over HTTP")
	return s
}

// kill ends it as a crash does.
func (s *server) kill(*testing.T) {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// connected is a running gearbox connect with a client of the SDK.
type connected struct {
	*mcp.ClientSession

	t       *testing.T
	log     *tail
	changed chan struct{} // gets a value when the list of tools changed
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	ended   chan struct{}
}

// kill ends connect as a crash does.
func (c *connected) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// connect starts gearbox connect and a client of one era.
func connect(t *testing.T, version string, env []string, args ...string) *connected {
	t.Helper()
	c := &connected{t: t, log: newTail(), changed: make(chan struct{}, 16), ended: make(chan struct{}), cmd: gearbox(t, append([]string{"connect"}, args...)...)}
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = c.log
	stdout, w, err := os.Pipe() // Wait would close one of its own too early
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout = w
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(c.kill)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: stdout, Writer: c.stdin}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("%v\n%s", err, c.log)
	}
	c.ClientSession = session
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the version is %s, want %s", got, version)
	}
	return c
}

// call calls a tool and gives its text and structured answer.
func (c *connected) call(name string, args map[string]any) (*mcp.CallToolResult, answer) {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", name, err, c.log)
	}
	return res, answerOf(c.t, res)
}

// answer is what these tests read of a structured answer.
type answer struct {
	Status      string          `json:"status"`
	OperationID string          `json:"operation_id"`
	Value       json.RawMessage `json:"value"`
	Error       *struct {
		Code       string  `json:"code"`
		RetryAfter float64 `json:"retry_after_seconds"`
	} `json:"error"`
}

func answerOf(t *testing.T, res *mcp.CallToolResult) (a answer) {
	t.Helper()
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// works runs a program until it is run, which it is once the server is back.
func (c *connected) works() {
	c.t.Helper()
	c.until("execute", map[string]any{"code": "6*7"}, func(res *mcp.CallToolResult, a answer) bool {
		if strings.Contains(textOf(res), "no sandbox") {
			c.t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
		}
		return a.Status == "ok" && string(a.Value) == "42"
	})
}

// reaches asks the server for what it does not have until it says so, for which it needs
// no interpreter.
func (c *connected) reaches() {
	c.t.Helper()
	c.until("get_operation", map[string]any{"operation_id": "op_none"}, func(_ *mcp.CallToolResult, a answer) bool {
		return a.Error != nil && a.Error.Code == "NOT_FOUND"
	})
}

// until makes a call until the server answers it, as is expected.
func (c *connected) until(name string, args map[string]any, expected func(*mcp.CallToolResult, answer) bool) {
	c.t.Helper()
	for {
		res, a := c.call(name, args)
		switch {
		case expected(res, a):
			return
		case a.Error == nil || a.Error.Code != "UNAVAILABLE":
			c.t.Fatalf("%s\n%s", textOf(res), c.log)
		}
		select { // until connect says that something changed
		case <-c.log.news:
		case <-c.ended:
			c.t.Fatalf("connect has ended\n%s", c.log)
		}
	}
}

// unavailable expects that a call is refused for now, and names where the server was.
func (c *connected) unavailable(where string) string {
	c.t.Helper()
	res, a := c.call("execute", map[string]any{"code": "1"})
	text := textOf(res)
	if !res.IsError || a.Error == nil || a.Error.Code != "UNAVAILABLE" || a.Error.RetryAfter < 1 || a.Status != "rejected" ||
		!strings.Contains(text, "code execution is unavailable for now") || !strings.Contains(text, where) {
		c.t.Fatalf("%+v %+v\n%s", a, text, c.log)
	}
	return text
}

func socketIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "gearbox.sock")
}
