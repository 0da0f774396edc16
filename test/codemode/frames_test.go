//go:build linux

package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// frames finds the descriptor that leads to the host, and writes frames by itself.
const frames = `
import os, struct, json, threading
def is_socket(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    except OSError:
        return False
fd = next(fd for fd in range(1100, 2, -1) if is_socket(fd))
def chunk(kind, number, data, more=0, version=1):
    return struct.pack(">BBHII", version, kind, more, number, len(data)) + data
def payload(head, body=b""):
    head = json.dumps(head).encode()
    return struct.pack(">I", len(head)) + head + body
def send(data):
    while data:
        data = data[os.write(fd, data):]
def call(number, body=b"{}", **head):
    data = payload({"want": "call", "server": "s", "tool": "echo", **head}, body)
    while True:
        part, data = data[:65536], data[65536:]
        send(chunk(9, number, part, more=1 if data else 0))
        if not data:
            return
def receive():
    parts = []
    while True:
        header = b""
        while len(header) < 12:
            header += os.read(fd, 12 - len(header))
        version, kind, flags, number, size = struct.unpack(">BBHII", header)
        data = b""
        while len(data) < size:
            data += os.read(fd, size - len(data))
        parts.append(data)
        if not flags & 1:
            data = b"".join(parts)
            n = struct.unpack(">I", data[:4])[0]
            return kind, number, json.loads(data[4:4 + n]), data[4 + n:]
forever = threading.Event().wait
`

// Peers 4.3, 11: what a program writes to the bridge by itself. It never gets further than
// the functions do, and the next run knows nothing of it.
func TestForgedFramesReachNothingAndEndOnlyTheirRun(t *testing.T) {
	p, locked := newPeer(t, ""), newPeer(t, "")
	b := open(t, setting{servers: servers{"s": p.entry(), "locked": locked.entry()}, asks: true, flags: []string{"--allow", "tool(s.echo)", "--allow", "tool(s.lose)", "--deny", "tool(locked.**)", "--deny", "tool(s.die)"}})
	value[any](b, "from tools import s\ns.echo(mark='before')", nil)

	for name, code := range map[string]string{
		"an id that is due":       "call(7, tool='lose')\ncall(7)\nforever()",
		"a result of a run":       "send(chunk(5, 7, payload({})))\nforever()",
		"arming anew":             `send(chunk(4, 7, payload({"limits": {}})))` + "\nforever()",
		"another kind":            "send(chunk(99, 7, payload({})))\nforever()",
		"another version":         "send(chunk(9, 7, payload({}), version=2))\nforever()",
		"noise":                   "send(os.urandom(100_000))\nforever()",
		"a giant":                 "call(7, b' ' * (17 << 20) + b'{}')\nforever()",
		"a giant head":            "call(7, query='x' * 70_000)\nforever()",
		"many unfinished":         "for n in range(300): send(chunk(9, n, b'abcd', more=1))\nforever()",
		"arguments that are none": "call(7, b'[1]')\nforever()",
		"an unknown want":         "call(7, want='everything')\nforever()",
		"a length that lies":      "send(struct.pack('>BBHII', 1, 9, 0, 7, 0xffffffff))\nforever()",
	} {
		t.Run(name, func(t *testing.T) {
			if a := b.execute(frames+code, nil); a.Status != "error" || a.Error == nil || a.Error.Code != "PROTOCOL" {
				t.Errorf("%s", a.raw)
			}
		})
	}
	if n := len(sent(p, "echo")); n > 1 {
		t.Errorf("%d calls of runs that broke the protocol", n-1)
	}

	t.Run("what the door does not let through, by hand", func(t *testing.T) {
		got := value[[][]any](b, frames+`
r = []
def ask(number, body=b"{}", **head):
    call(number, body, **head)
    kind, back, head, body = receive()
    r.append([number == back, (head.get("error") or {}).get("class", "value"), body.decode()[:100]])
ask(1, b'{"mark":"by hand"}')
ask(2, server="locked")
ask(3, tool="die")
ask(4, server="locked", tool="../s/echo")
ask(5, server="s.echo", tool="")
ask(6, server="", tool="locked.echo")
ask(7, server="S", tool="ECHO")
ask(8, server="locked\x00", tool="echo")
ask(9, b"", want="read", server="locked", uri="file:///etc/passwd")
ask(4294967295, b'{"mark":"last id"}')
ask(0, b'{"mark":"first id"}')
r
`, nil)
		for i, want := range []string{"value", "PolicyDenied", "PolicyDenied"} {
			if got[i][0] != true || got[i][1] != want {
				t.Errorf("%d: %v", i+1, got[i])
			}
		}
		for i := 3; i < 9; i++ {
			if got[i][0] != true || got[i][1] == "value" {
				t.Errorf("%d: %v", i+1, got[i])
			}
		}
		has(t, marshal(t, got[9:]), "last id", "first id")
	})
	t.Run("a flood", func(t *testing.T) {
		a := b.execute(frames+`
threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(fd, 1 << 20), b"")], daemon=True).start()
for n in range(50_000):
    call(10_000 + n)
"done"`, nil)
		if a.Status != "ok" || string(a.Value) != `"done"` {
			t.Errorf("%s", a.raw)
		}
	})
	t.Run("calls after the result", func(t *testing.T) {
		before := len(p.calls())
		a := b.execute(frames+`send(chunk(6, 2, payload({"outcome": "ok", "exit_code": 0, "value": 5})))
for n in range(50):
    call(10_000 + n, b'{"mark":"after"}')`, nil)
		if a.Status != "ok" || string(a.Value) != "5" || len(p.calls()) != before {
			t.Errorf("%s, %d calls", a.raw, len(p.calls())-before)
		}
	})
	t.Run("by a process that outlives the program", func(t *testing.T) {
		before := len(p.calls())
		b.execute(frames+`
import time
if os.fork() == 0:
    os.setsid()
    for n in range(1000):
        call(10_000 + n, b'{"mark":"orphan"}')
        time.sleep(0.001)
    os._exit(0)
os._exit(0)`, nil)
		after := len(p.calls())
		value[int](b, "1", nil)
		if len(p.calls()) != after || after-before > 100 {
			t.Errorf("%d calls, %d more later", after-before, len(p.calls())-after)
		}
	})

	if got := value[any](b, "from tools import s\ns.echo(mark='next')", nil); marshal(t, got) != `{"mark":"next"}` {
		t.Errorf("the next run: %v", got)
	}
	if n := len(locked.calls()); n != 0 {
		t.Errorf("%d calls went through a closed door", n)
	}
	for _, c := range p.calls() {
		if c.Tool != "echo" && c.Tool != "lose" {
			t.Errorf("%s was called", c.Tool)
		}
		lacks(t, string(c.Arguments), "after")
	}
}

// Two runs at once ask with the same ids, and each reads every frame that it gets.
func TestARunGetsNoAnswerOfAnotherAndCannotCallInItsName(t *testing.T) {
	p := newPeer(t, "")
	b := open(t, setting{servers: servers{"s": p.entry()}})
	const each = 40
	code := frames + `
got = []
for n in range(MANY):
    call(5000 + n, json.dumps({"run": RUN, "n": n}).encode())
    kind, number, head, body = receive()
    got.append([number, json.loads(body)])
[g for i, g in enumerate(got) if g != [5000 + i, {"run": RUN, "n": i}]]
`
	type outcome struct {
		a   answer
		err error
	}
	ended := make(chan outcome)
	for run := range 2 {
		go func() {
			a, err := b.try(context.WithoutCancel(t.Context()), "execute", map[string]any{
				"code": code, "timeout_seconds": timeout, "wait_seconds": timeout, "variables": map[string]any{"RUN": run, "MANY": each},
			})
			ended <- outcome{a, err}
		}()
	}
	for range 2 {
		if o := <-ended; o.err != nil || o.a.Status != "ok" || string(o.a.Value) != "[]" {
			t.Errorf("%v: %s", o.err, o.a.raw)
		}
	}
	count := map[int]int{}
	for _, c := range p.calls() {
		var a struct{ Run int }
		if err := json.Unmarshal(c.Arguments, &a); err != nil {
			t.Fatal(err)
		}
		count[a.Run]++
	}
	if count[0] != each || count[1] != each {
		t.Errorf("%v", count)
	}
	// The record knows which run made which call.
	record, _, _ := command(t, nil, "audit", "export", "--data-dir", b.dir)
	of := map[string]map[string]bool{}
	for line := range strings.Lines(record) {
		var e struct {
			Event struct {
				Operation string            `json:"operation_id"`
				Details   map[string]string `json:"details"`
			} `json:"event"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if arguments := e.Event.Details["arguments"]; arguments != "" {
			if of[e.Event.Operation] == nil {
				of[e.Event.Operation] = map[string]bool{}
			}
			var a struct{ Run int }
			if err := json.Unmarshal([]byte(arguments), &a); err != nil {
				t.Fatal(err)
			}
			of[e.Event.Operation][fmt.Sprint(a.Run)] = true
		}
	}
	if len(of) != 2 {
		t.Errorf("%d operations in the record", len(of))
	}
	for id, runs := range of {
		if len(runs) != 1 {
			t.Errorf("%s has calls of both", id)
		}
	}
}
