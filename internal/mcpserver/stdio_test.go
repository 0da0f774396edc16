package mcpserver

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestCallsAreAnsweredAfterTheInputEnded(t *testing.T) {
	engine := newEngine(map[string]execution.Result{})
	s, _ := newServer(t, Config{Engine: engine})
	w := dial(t, s)
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"slow"}}}`)
	id := <-engine.submitted
	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Cancel(t.Context(), execution.Local, id); err != nil {
		t.Fatal(err)
	}
	if a := result(t, w.receive()).answer(t); a.OperationID != id || a.Status != execution.StatusCancelled {
		t.Errorf("answered %+v", a)
	}
	if err := <-w.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestTheEndOfTheInputIsToldOnlyWhileCallsAreOpen(t *testing.T) {
	for name, open := range map[string]bool{"open call": true, "no call": false} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine(map[string]execution.Result{})
			s, _ := newServer(t, Config{Engine: engine})
			told := make(chan struct{}, 1)
			w := dialOver(t, s, func(in *io.PipeReader, out *io.PipeWriter) mcp.Transport {
				return &lines{in: in, out: out, maxLine: 4 << 20, ended: func() { told <- struct{}{} }}
			})
			w.initialize("2025-11-25")
			var id execution.ID
			if open {
				w.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"slow"}}}`)
				id = <-engine.submitted
			}
			if err := w.in.Close(); err != nil {
				t.Fatal(err)
			}
			if open {
				<-told
				if _, err := engine.Cancel(t.Context(), execution.Local, id); err != nil {
					t.Fatal(err)
				}
				w.receive()
			}
			if err := <-w.served; err != nil || len(told) > 0 {
				t.Errorf("Serve: %v, told %d times more", err, len(told))
			}
		})
	}
}

func TestServeEndsWhenNobodyReadsTheAnswers(t *testing.T) {
	engine := newEngine(nil)
	s, _ := newServer(t, Config{Engine: engine})
	w := dial(t, s)
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute","arguments":{"code":"forever"}}}`)
	<-engine.submitted
	if err := w.from.Close(); err != nil {
		t.Fatal(err)
	}
	w.send(`{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-w.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestTheSessionOutlivesGarbage sends lines that are no messages. Each gets a
// protocol error, with the id where there is one, and the next call its answer.
func TestTheSessionOutlivesGarbage(t *testing.T) {
	s, _ := newServer(t, Config{})
	w := dial(t, s)
	w.initialize("2025-11-25")
	for _, c := range []struct{ line, id string }{
		{`not json`, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"code":"`, "null"},
		{`5`, "null"},
		{`[]`, "null"},
		{`[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, "null"},
		{`{"jsonrpc":"1.0","id":3,"method":"tools/list"}`, "3"},
		{`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, "null"},
		{`{"jsonrpc":"2.0","id":"x","method":5}`, `"x"`},
		{`{"jsonrpc":"2.0","id":4,"method":"no/such/method"}`, "4"},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"execute","arguments":` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + `}}`, "5"},
		{`{"jsonrpc":"2.0","id":6,"method":"tools/list","params":"` + strings.Repeat("x", 5<<20) + `"}`, "null"},
		{"\xff\xfe\x00", "null"},
	} {
		w.send(c.line)
		var m struct {
			ID    json.RawMessage
			Error *struct{ Code int }
		}
		if err := json.Unmarshal(w.receive(), &m); err != nil || string(m.ID) != c.id || m.Error == nil {
			t.Errorf("%.60s: answered id %s, error %v", c.line, m.ID, m.Error)
		}
	}
	w.send("\n\r\n  ")
	if res := w.callTool("list_packages", `{}`); res.IsError {
		t.Errorf("the next call: %+v", res)
	}
}

func TestBatchesAreReadWhereTheProtocolHasThem(t *testing.T) {
	s, _ := newServer(t, Config{})
	w := dial(t, s)
	w.initialize("2025-03-26")
	w.send(`[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"resources/list"}]`)
	line, err := w.out.ReadBytes('\n')
	var answers []json.RawMessage
	if err != nil || json.Unmarshal(line, &answers) != nil || len(answers) != 2 {
		t.Errorf("answered %s, %v", line, err)
	}
}

func TestTheIDOfAResponseIsFound(t *testing.T) {
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"result":{"id":8}}`:              true,
		`{"jsonrpc":"2.0","result":{"id":8},"id":7}`:              true,
		`{"jsonrpc":"2.0","id":7,"error":{"code":1}}`:             true,
		`{"jsonrpc":"2.0","method":"notifications/x","params":1}`: false,
		`[{"jsonrpc":"2.0","id":7,"result":1}]`:                   false,
		`{"jsonrpc":"2.0"}`:                                       false,
		``:                                                        false,
	} {
		if id, ok := answered([]byte(line)); ok != want || (ok && id.Raw() != int64(7)) {
			t.Errorf("%s: %v, %v", line, id.Raw(), ok)
		}
	}
}
