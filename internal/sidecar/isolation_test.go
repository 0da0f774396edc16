//go:build linux

package sidecar_test

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// neighbour is a party with things to hide: operations that ended and one that runs.
type neighbour struct {
	*party

	secrets  []string // words that nobody else may ever read
	finished string
	running  string
	sessions map[string]string // by era
}

// nobodys has the form of an operation's id.
var nobodys = string(execution.NewID())

// settle lets a party run a program that ends and one that does not.
func settle(t *testing.T, p *party) *neighbour {
	t.Helper()
	r := &neighbour{party: p, sessions: map[string]string{}, secrets: []string{"code-of-" + p.name, "output-of-" + p.name, "errors-of-" + p.name, p.clientName()}}
	session := p.connect(eras[0])
	ended := callTool(t, session, "execute", map[string]any{"code": fmt.Sprintf("import sys\n# code-of-%[1]s\nprint('output-of-%[1]s')\nprint('errors-of-%[1]s', file=sys.stderr)", p.name)})
	if ended["status"] != "ok" {
		t.Fatalf("%v", ended)
	}
	goes := callTool(t, session, "execute", map[string]any{
		"code": fmt.Sprintf("# code-of-%[1]s\nimport time\nprint('output-of-%[1]s')\ntime.sleep(600)", p.name), "timeout_seconds": 300, "wait_seconds": 0,
	})
	r.finished, r.running = ended["operation_id"].(string), goes["operation_id"].(string)
	for _, era := range eras {
		r.sessions[era] = p.open(era)
	}
	return r
}

// unharmed expects that a neighbour's own things are there and as they were.
func (r *neighbour) unharmed() {
	t := r.s.t
	t.Helper()
	for _, era := range eras {
		for id, want := range map[string][]string{
			r.finished: {`"status":"ok"`, "output-of-" + r.name, "errors-of-" + r.name},
			r.running:  {`"status":"running"`},
		} {
			got := r.post(r.tool(era, r.sessions[era], 1, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 0}))
			for _, w := range want {
				if !strings.Contains(got.text, w) {
					t.Errorf("%s, %s: no %s in its own %+v", r.name, era, w, got)
				}
			}
		}
	}
	if got := r.ask(http.MethodGet, "/api/v1/operations", ""); !strings.Contains(got.text, r.finished) || !strings.Contains(got.text, r.running) {
		t.Errorf("%s: %+v", r.name, got)
	}
}

// doors are all ways by which an operation is asked for.
func (r *neighbour) doors(id string) map[string]func() reply {
	out := map[string]func() reply{}
	for _, era := range eras {
		session := r.sessions[era]
		for name, arguments := range map[string]map[string]any{
			"get":               {},
			"get and wait":      {"wait_seconds": 1},
			"get output":        {"stream": "stdout"},
			"get later errors":  {"stream": "stderr", "output_offset": 3},
			"wait for output":   {"stream": "stdout", "wait_seconds": 1},
			"get beyond output": {"stream": "stdout", "output_offset": 1 << 40},
			"cancel":            {},
		} {
			arguments["operation_id"] = id
			tool := "get_operation"
			if name == "cancel" {
				tool = "cancel_operation"
			}
			out[era+" "+name] = func() reply { return r.post(r.tool(era, session, 1, tool, arguments)) }
		}
		for _, uri := range []string{"operation://" + id, "operation://" + id + "/stdout", "env://operations/" + id} {
			out[era+" resource "+uri[:12]] = func() reply {
				return r.post(r.rpc(era, session, 1, "resources/read", map[string]any{"uri": uri}))
			}
		}
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			out[era+" "+method] = func() reply { return r.post(r.rpc(era, session, 1, method, map[string]any{"taskId": id})) }
		}
	}
	for name, c := range map[string][2]string{
		"show":          {http.MethodGet, "/api/v1/operations/" + id},
		"show and wait": {http.MethodGet, "/api/v1/operations/" + id + "?wait_seconds=1"},
		"look":          {http.MethodHead, "/api/v1/operations/" + id},
		"end":           {http.MethodPost, "/api/v1/operations/" + id + "/cancel"},
		"delete":        {http.MethodDelete, "/api/v1/operations/" + id},
		"list before":   {http.MethodGet, "/api/v1/operations?before=" + id},
		"one before":    {http.MethodGet, "/api/v1/operations?limit=1&before=" + id},
		"audit":         {http.MethodGet, "/api/v1/audit?operation=" + id},
		"events":        {http.MethodGet, "/api/v1/operations/" + id + "/events"},
	} {
		out["api "+name] = func() reply { return r.ask(c[0], c[1], "") }
	}
	return out
}

// TestWhatOnePrincipalHasIsToAllOthersAsIfItWereNotThere: whatever they ask for, they
// are answered as for what does not exist, byte by byte.
func TestWhatOnePrincipalHasIsToAllOthersAsIfItWereNotThere(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{Pool: sidecar.PoolOptions{Concurrency: new(16)}})
	var all []*neighbour // each with a program at work, and three more of one of them
	for _, name := range []string{"anna", "berta"} {
		all = append(all, settle(t, s.holder(name, s.create(name, token.Rights{}))))
	}
	all = append(all, settle(t, s.local()))
	for _, thief := range all {
		for _, victim := range all {
			if thief == victim {
				continue
			}
			t.Run(thief.name+" and "+victim.name, func(t *testing.T) {
				for _, id := range []string{victim.finished, victim.running} {
					unknown := thief.doors(nobodys)
					for door, ask := range thief.doors(id) {
						got, none := ask(), unknown[door]()
						got.text, none.text = strings.ReplaceAll(got.text, id, "ID"), strings.ReplaceAll(none.text, nobodys, "ID")
						if got != none {
							t.Errorf("%s: %+v, and for what is not there %+v", door, got, none)
						}
						if !refusal(got) {
							t.Errorf("%s: %+v", door, got)
						}
					}
				}
				thief.steal(t, victim)
			})
		}
	}
	for _, r := range all {
		r.unharmed()
		r.readsNothingOf(t, all)
	}
}

func refusal(r reply) bool {
	return r.status >= http.StatusBadRequest || strings.Contains(r.text, "NOT_FOUND") || strings.Contains(r.text, `"error":{"code":-3`)
}

// steal tries to come in by the sessions and calls of another.
func (r *neighbour) steal(t *testing.T, victim *neighbour) {
	const era = "2025-11-25"
	mine, theirs := r.sessions[era], victim.sessions[era]
	sleep := map[string]any{"code": "import time; time.sleep(600) # " + victim.secrets[0], "timeout_seconds": 300, "wait_seconds": 300}
	inFlight := victim.begin(t, victim.tool(era, theirs, 7, "execute", sleep))
	named := victim.tool(eras[1], "", 7, "execute", sleep)
	named.header = append(named.header, "Gearbox-Call", "call-7")
	other := victim.begin(t, named)
	victim.threeRun(t)

	stream := []string{"Accept", "text/event-stream", "MCP-Protocol-Version", era}
	for what, try := range map[string]func(session, event, call string) reply{
		"ask": func(session, _, _ string) reply { return r.post(r.rpc(era, session, 1, "tools/list", nil)) },
		"run": func(session, _, _ string) reply {
			return r.post(r.tool(era, session, 1, "execute", map[string]any{"code": "1"}))
		},
		"cancel": func(session, _, _ string) reply {
			return r.post(r.rpc(era, session, nil, "notifications/cancelled", map[string]any{"requestId": 7}))
		},
		"listen": func(session, _, _ string) reply {
			return r.ask(http.MethodGet, "/mcp", "", append(stream, "Mcp-Session-Id", session)...)
		},
		"end": func(session, _, _ string) reply {
			return r.ask(http.MethodDelete, "/mcp", "", append(stream, "Mcp-Session-Id", session)...)
		},
		"read on": func(session, event, _ string) reply {
			return r.ask(http.MethodGet, "/mcp", "", append(stream, "Mcp-Session-Id", session, "Last-Event-ID", event)...)
		},
		"read on in one's own session": func(_, event, _ string) reply {
			return r.ask(http.MethodGet, "/mcp", "", append(stream, "Mcp-Session-Id", mine, "Last-Event-ID", event)...)
		},
		"give up a named call": func(_, _, call string) reply {
			return r.ask(http.MethodDelete, "/mcp", "", "Gearbox-Call", call)
		},
	} {
		unknownEvent := strings.Repeat("A", max(strings.LastIndex(inFlight.first, "_"), 1)) + "_0"
		got, none := try(theirs, inFlight.first, "call-7"), try(strings.Repeat("A", len(theirs)), unknownEvent, "call-none")
		if got != none || !refusal(got) {
			t.Errorf("%s: %+v, and for what is not there %+v", what, got, none)
		}
	}
	// Numbers of requests are each session's own.
	for _, e := range eras {
		got := r.post(r.rpc(e, r.sessions[e], nil, "notifications/cancelled", map[string]any{"requestId": 7}))
		if got.status != http.StatusAccepted {
			t.Errorf("%+v", got)
		}
		r.post(r.rpc(e, r.sessions[e], 2, "tools/list", nil)) // what was sent before has been read
	}
	victim.threeRun(t)
	for id := range victim.atWork(t) {
		if id != victim.running {
			victim.ask(http.MethodPost, "/api/v1/operations/"+id+"/cancel", "")
		}
	}
	for _, f := range []flight{inFlight, other} {
		if text := <-f.rest; !strings.Contains(text, `"cancelled"`) {
			t.Errorf("its owner is answered %s", text)
		}
	}
}

// threeRun waits until two calls in flight and the program of settle are at work.
func (r *neighbour) threeRun(t *testing.T) {
	t.Helper()
	for len(r.atWork(t)) != 3 && t.Context().Err() == nil {
		runtime.Gosched()
	}
}

// atWork are the operations of a neighbour that run.
func (r *neighbour) atWork(t *testing.T) map[string]bool {
	t.Helper()
	principal := execution.Local
	if r.secret != "" {
		principal = execution.Principal("token:" + r.s.name(r.name))
	}
	list, err := r.s.operations(principal)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, rec := range list {
		if rec.State == execution.StateRunning {
			out[string(rec.ID)] = true
		}
	}
	return out
}

// readsNothingOf reads whatever is listed and told to everybody.
func (r *neighbour) readsNothingOf(t *testing.T, all []*neighbour) {
	t.Helper()
	var texts []reply
	for _, path := range []string{"/api/v1/operations?limit=500", "/metrics", "/healthz", "/readyz"} {
		texts = append(texts, r.ask(http.MethodGet, path, ""))
	}
	for _, era := range eras {
		session := r.sessions[era]
		for _, method := range []string{"tools/list", "resources/list", "resources/templates/list"} {
			texts = append(texts, r.post(r.rpc(era, session, 1, method, nil)))
		}
		for _, uri := range []string{"env://info", "env://packages", "env://gear"} {
			texts = append(texts, r.post(r.rpc(era, session, 1, "resources/read", map[string]any{"uri": uri})))
		}
		texts = append(texts, r.post(r.tool(era, session, 1, "list_packages", map[string]any{})))
	}
	for _, got := range texts {
		if got.status != http.StatusOK || strings.Contains(got.text, `"error":`) {
			t.Errorf("%s: %+v", r.name, got)
		}
		for _, o := range all {
			if o == r {
				continue
			}
			for _, word := range append(slices.Clone(o.secrets), o.finished, o.running, o.s.name(o.name)) {
				if strings.Contains(got.text, word) {
					t.Errorf("%s reads %q of %s in %.2000s", r.name, word, o.name, got.text)
				}
			}
		}
	}
}

func TestTheBoundsOfOnePrincipalDoNotTouchAnother(t *testing.T) {
	s := serveHTTP(t, sidecar.Options{})
	greedy := map[string]*party{
		"often": s.holder("often", s.create("often", token.Rights{Rate: 1})),
		"many":  s.holder("many", s.create("many", token.Rights{Concurrency: 1})),
	}
	calm := []*party{s.holder("calm", s.create("calm", token.Rights{Rate: 600, Concurrency: 1})), s.local()}
	for _, era := range eras {
		for _, name := range slices.Sorted(maps.Keys(greedy)) {
			session := greedy[name].connect(era)
			var got map[string]any
			for got["status"] != "rejected" {
				got = callTool(t, session, "execute", map[string]any{"code": "import time; time.sleep(60)", "timeout_seconds": 60, "wait_seconds": 0})
			}
			for _, p := range calm {
				if got := callTool(t, p.connect(era), "execute", map[string]any{"code": "1"}); got["status"] != "ok" {
					t.Errorf("%s, beside %s: %s is answered %v", era, name, p.name, got)
				}
			}
		}
	}
}
