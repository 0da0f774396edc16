package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// message is JSON-RPC as a client sees it.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

func TestServeWritesOnlyJSONRPCToStdoutAndOnlyJSONToStderr(t *testing.T) {
	s := startServe(t)
	s.send(greeting)
	if m := s.answer(1); m.Error != nil || !bytes.Contains(m.Result, []byte(`"serverInfo"`)) {
		t.Errorf("initialize: %s %s", m.Result, m.Error)
	}
	s.send("this is no JSON-RPC\n")
	s.end()
	for line := range strings.Lines(s.stderr.String()) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("stderr has the line %q", line)
		}
	}
}

func TestServeListsExecuteAndOutlivesMalformedCalls(t *testing.T) {
	s := startServe(t)
	s.send(greeting)
	s.answer(1)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"code":""}}}` + "\n")
	if m := s.answer(2); !bytes.Contains(m.Result, []byte(`INVALID_ARGUMENT`)) {
		t.Errorf("an empty program: %s %s", m.Result, m.Error)
	}
	s.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n")
	if m := s.answer(3); !bytes.Contains(m.Result, []byte(`"execute"`)) {
		t.Errorf("tools/list: %s %s", m.Result, m.Error)
	}
	s.end()
}

// server is a running gearbox serve.
type server struct {
	t      *testing.T
	dir    string // its data directory
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr transcript
}

// transcript is what a process has written, for readers beside it.
type transcript struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed by the next write
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
	return w.text.Write(p)
}

func (w *transcript) String() string {
	text, _ := w.now()
	return text
}

// now is what there is, and a channel that is closed when there is more.
func (w *transcript) now() (string, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.text.String(), w.changed
}

// await waits until the text was written that often.
func (w *transcript) await(t *testing.T, text string, times int) {
	t.Helper()
	for {
		got, more := w.now()
		if strings.Count(got, text) >= times {
			return
		}
		select {
		case <-more:
		case <-t.Context().Done():
			t.Fatalf("%q was not written %d times in:\n%s", text, times, got)
		}
	}
}

func startServe(t *testing.T) *server {
	t.Helper()
	return startServeIn(t, t.TempDir())
}

func startServeIn(t *testing.T, dir string, flags ...string) *server {
	t.Helper()
	args := append([]string{"serve", "--data-dir", dir}, flags...)
	s := &server{t: t, dir: dir, cmd: exec.CommandContext(t.Context(), "gearbox", args...)}
	s.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdout = bufio.NewReader(out)
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, text); err != nil {
		s.t.Fatal(err)
	}
}

// answer reads up to the answer with an id. Every line has to be JSON-RPC.
func (s *server) answer(id int) message {
	s.t.Helper()
	for {
		line, err := s.stdout.ReadBytes('\n')
		if err != nil {
			s.t.Fatalf("waiting for answer %d: %v\nstderr: %s", id, err, s.stderr.String())
		}
		if m := s.parse(line); m.ID != nil && *m.ID == id {
			return m
		}
	}
}

func (s *server) parse(line []byte) message {
	s.t.Helper()
	var m message
	if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
		s.t.Errorf("stdout has the line %q", line)
	}
	return m
}

// end closes the server's input and expects an orderly end.
func (s *server) end() {
	s.t.Helper()
	if err := s.stdin.Close(); err != nil {
		s.t.Fatal(err)
	}
	rest, err := io.ReadAll(s.stdout)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range bytes.Lines(rest) {
		s.parse(line)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("serve ended with %v\nstderr: %s", err, s.stderr.String())
	}
}
