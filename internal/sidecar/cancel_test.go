//go:build linux

package sidecar_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

var marks atomic.Int64

// tree is a program of several processes that resist, each with an argument by which it
// is found on the host.
func tree() (mark, code string) {
	mark = fmt.Sprintf("%d.%d", 4000+marks.Add(1), os.Getpid())
	return mark, strings.ReplaceAll(`
import os, signal, subprocess, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
subprocess.Popen(["sleep", "MARK"])
subprocess.Popen(["sleep", "MARK"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "MARK"])
    os._exit(0)
time.sleep(600)
`, "MARK", mark)
}

// marked are the processes of this machine with the mark.
func marked(t testing.TB, mark string) (found []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), mark) {
			found = append(found, p)
		}
	}
	return found
}

// grown waits until the whole tree is there.
func grown(t testing.TB, mark string) {
	t.Helper()
	for len(marked(t, mark)) < 3 && t.Context().Err() == nil {
		runtime.Gosched()
	}
}

// goneWith expects that nothing is left of a tree when its record says cancelled, and
// that the record does so.
func (s *served) goneWith(mark string, p execution.Principal) {
	s.t.Helper()
	for {
		list, err := s.operations(p)
		if err != nil {
			s.t.Fatal(err)
		}
		if newest := list[0]; newest.State == execution.StateFinished {
			if left := marked(s.t, mark); len(left) > 0 || newest.Result.Status != execution.StatusCancelled {
				s.t.Errorf("%s, and %q are left", newest.Result.Status, left)
			}
			return
		}
		runtime.Gosched()
	}
}

// TestACallThatIsGivenUpLeavesNoProcess: in each way in which a client can give up a call
// over HTTP, and in none other.
func TestACallThatIsGivenUpLeavesNoProcess(t *testing.T) {
	s := serveHTTP(t, apart(t)) // the newest operation there is ours
	p := s.local()
	for _, era := range eras {
		for name, giveUp := range map[string]func(f flight, session string){
			"the connection is closed": func(f flight, _ string) { f.hangUp() },
			"notifications/cancelled": func(_ flight, session string) {
				p.post(p.rpc(era, session, nil, "notifications/cancelled", map[string]any{"requestId": 7}))
			},
			"the session is ended": func(_ flight, session string) {
				p.ask(http.MethodDelete, "/mcp", "", "Mcp-Session-Id", session, "MCP-Protocol-Version", era)
			},
			"cancel_operation": func(flight, string) {
				list, err := s.operations(execution.Local)
				if err != nil {
					t.Fatal(err)
				}
				callTool(t, p.connect(era), "cancel_operation", map[string]any{"operation_id": string(list[0].ID)})
			},
		} {
			sessions := era == eras[0]
			if !sessions && (name == "notifications/cancelled" || name == "the session is ended") {
				continue // of what there is not
			}
			t.Run(era+" "+name, func(t *testing.T) {
				session := p.open(era)
				mark, code := tree()
				f := p.begin(t, p.tool(era, session, 7, "execute", map[string]any{"code": code, "timeout_seconds": 300, "wait_seconds": 300}))
				grown(t, mark)
				giveUp(f, session)
				if sessions && name == "the connection is closed" {
					s.goesOn(t, p, era, session, mark)
					return
				}
				s.goneWith(mark, execution.Local)
				if text := <-f.rest; name != "the connection is closed" && name != "the session is ended" && !strings.Contains(text, `"cancelled"`) {
					t.Errorf("the call is answered %s", text)
				}
				if got := callTool(t, p.connect(era), "execute", map[string]any{"code": "6*7"}); got["value"] != 42.0 {
					t.Errorf("the next call: %v", got)
				}
			})
		}
	}
}

// goesOn expects that a call in a session outlives its connection, and ends it then.
func (s *served) goesOn(t *testing.T, p *party, era, session, mark string) {
	t.Helper()
	callTool(t, p.connect(era), "execute", map[string]any{"code": "1"}) // the end of the connection has been seen by then, or will be
	list, err := s.operations(execution.Local)
	if err != nil || list[1].State != execution.StateRunning || len(marked(t, mark)) != 3 {
		t.Errorf("%v, %v", list[1].State, err)
	}
	p.post(p.rpc(era, session, nil, "notifications/cancelled", map[string]any{"requestId": 7}))
	for len(marked(t, mark)) > 0 {
		runtime.Gosched()
	}
}

// TestARunInTheBackgroundOutlivesItsClient: what was answered with running is in nobody's
// call any more.
func TestARunInTheBackgroundOutlivesItsClient(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{})
	p := s.local()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			session := p.open(era)
			mark, code := tree()
			text := p.post(p.tool(era, session, 7, "execute", map[string]any{"code": code, "timeout_seconds": 300, "wait_seconds": 0})).text
			var answered struct {
				Result struct {
					Structured execution.Result `json:"structuredContent"`
				} `json:"result"`
			}
			if err := json.Unmarshal([]byte(text), &answered); err != nil || answered.Result.Structured.Status != execution.StatusRunning {
				t.Fatalf("%v: %s", err, text)
			}
			id := answered.Result.Structured.OperationID
			grown(t, mark)
			waiting := p.begin(t, p.tool(era, session, 8, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 300}))
			waiting.hangUp()
			<-waiting.rest
			p.post(p.rpc(era, session, nil, "notifications/cancelled", map[string]any{"requestId": 7}))
			if session != "" {
				p.ask(http.MethodDelete, "/mcp", "", "Mcp-Session-Id", session, "MCP-Protocol-Version", era)
			}
			p.client.CloseIdleConnections()
			other := p.connect(era)
			if got := callTool(t, other, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 0}); got["status"] != "running" || len(marked(t, mark)) != 3 {
				t.Errorf("%v", got)
			}
			if got := callTool(t, other, "cancel_operation", map[string]any{"operation_id": id}); got["status"] != "cancelled" || len(marked(t, mark)) > 0 {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestACallThatIsCancelledOnStandardInputIsAnsweredWhenNothingIsLeft drives the session
// by hand, in every version of the protocol that stands for an era.
func TestACallThatIsCancelledOnStandardInputIsAnsweredWhenNothingIsLeft(t *testing.T) {
	s := open(t, sidecar.Options{})
	run(t, s, execution.Request{Code: "1"})
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			theirs, in := io.Pipe()
			out, ours := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- s.Serve(t.Context(), &mcp.IOTransport{Reader: theirs, Writer: ours})
				_ = ours.Close()
			}()
			p := &party{s: &served{t: t}, name: "stdio"}
			send := func(m message) {
				t.Helper()
				if _, err := io.WriteString(in, m.text+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 1<<20)
			answer := func(id string) string {
				t.Helper()
				for lines.Scan() {
					if strings.Contains(lines.Text(), `"id":`+id) {
						return lines.Text()
					}
				}
				t.Fatal(lines.Err())
				return ""
			}
			if era == eras[0] {
				send(p.rpc(era, "", 1, "initialize", map[string]any{
					"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "raw", "version": "1"},
				}))
				answer("1")
				send(p.rpc(era, "", nil, "notifications/initialized", nil))
			}
			mark, code := tree()
			send(p.tool(era, "", 7, "execute", map[string]any{"code": code, "timeout_seconds": 300, "wait_seconds": 300}))
			grown(t, mark)
			send(p.rpc(era, "", nil, "notifications/cancelled", map[string]any{"requestId": 7}))
			if text := answer("7"); !strings.Contains(text, `"cancelled"`) || len(marked(t, mark)) > 0 {
				t.Errorf("%q are left: %s", marked(t, mark), text)
			}
			send(p.tool(era, "", 8, "execute", map[string]any{"code": "6*7"}))
			if text := answer("8"); !strings.Contains(text, `"value":42`) {
				t.Error(text)
			}
			_ = in.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
