package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// wire is a client that sees every byte.
type wire struct {
	t      testing.TB
	in     *io.PipeWriter
	out    *bufio.Reader
	from   *io.PipeReader // below out
	served chan error
}

func dial(t testing.TB, s *Server) *wire {
	t.Helper()
	return dialOver(t, s, func(in *io.PipeReader, out *io.PipeWriter) mcp.Transport {
		return &lines{in: in, out: out, maxLine: 4 << 20}
	})
}

func dialOver(t testing.TB, s *Server, transport func(*io.PipeReader, *io.PipeWriter) mcp.Transport) *wire {
	t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	w := &wire{t: t, in: clientOut, out: bufio.NewReader(clientIn), from: clientIn, served: make(chan error, 1)}
	go func() { w.served <- s.Serve(context.Background(), transport(serverIn, serverOut)) }()
	t.Cleanup(func() { _ = clientOut.Close() })
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

// receive reads the next message and holds it to be JSON-RPC.
func (w *wire) receive() []byte {
	w.t.Helper()
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		w.t.Fatal(err)
	}
	var m struct {
		Version string `json:"jsonrpc"`
	}
	if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
		w.t.Fatalf("not a JSON-RPC message: %q (%v)", line, err)
	}
	return bytes.TrimSpace(line)
}

func (w *wire) initialize(version string) {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`)
	w.receive()
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// callTool sends a call with these raw arguments and returns the result.
func (w *wire) callTool(name, arguments string) *toolResult {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`)
	return result(w.t, w.receive())
}

type toolResult struct {
	Content []struct {
		Type, Text string
	}
	StructuredContent json.RawMessage
	IsError           bool
}

func (r *toolResult) text() string {
	if len(r.Content) != 1 {
		return ""
	}
	return r.Content[0].Text
}

func (r *toolResult) answer(t testing.TB) execution.Result {
	t.Helper()
	var a execution.Result
	if err := json.Unmarshal(r.StructuredContent, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func result(t testing.TB, message []byte) *toolResult {
	t.Helper()
	var m struct {
		Result *toolResult
		Error  json.RawMessage
	}
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatal(err)
	}
	if m.Result == nil {
		t.Fatalf("a protocol error instead of an answer: %.300s", message)
	}
	return m.Result
}

// TestTranscripts plays whole conversations. A transcript has the engine's
// script, the lines that the client sends, and what it gets for each that has an id.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { playFile(t, file) })
	}
}

func playFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c Config
	script := map[string]execution.Result{}
	golden := -1
	var in string
	for i, f := range archive.Files {
		switch f.Name {
		case "compat":
			c.Compat = strings.Fields(string(f.Data))
		case "engine.json":
			if err := json.Unmarshal(f.Data, &script); err != nil {
				t.Fatal(err)
			}
		case "in":
			in = string(f.Data)
		case "out":
			golden = i
		}
	}
	engine := newEngine(script)
	engine.output = "first\nsecond\n"
	c.Engine = engine
	s, _ := newServer(t, c)
	got := play(t, dial(t, s), in)
	if *update {
		archive.Files[golden].Data = got
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := archive.Files[golden].Data; !bytes.Equal(got, want) {
		t.Errorf("the conversation differs (run with -update and look at the diff)\ngot:\n%s\nwant:\n%s", got, want)
	}
}

func play(t *testing.T, w *wire, in string) []byte {
	t.Helper()
	var got bytes.Buffer
	for line := range strings.Lines(in) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		w.send(line)
		if !strings.Contains(line, `"id":`) {
			continue
		}
		encoder := json.NewEncoder(&got)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		var v any
		if err := json.Unmarshal(w.receive(), &v); err != nil {
			t.Fatal(err)
		}
		if err := encoder.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return got.Bytes()
}
