//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const fromS = "from tools import s\nimport tools, asyncio\n"

func TestProgramsCallToolsAndTheAnswerListsTheCalls(t *testing.T) {
	b := newCallBench(t, toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
		if strings.Contains(string(body), "bad") {
			return failure("ToolError", "no such luck"), nil
		}
		return echo(ctx, head, body)
	}), 100)
	r := b.run(execution.Request{Code: fromS + `
first = s.echo(n=1)
try:
    s.echo(n="bad")
except tools.ToolError as e:
    second = str(e)
[first, second, tools.call("S", "other tool", {"a-b": [None]}), await s.aio.echo(n=2)]`})
	got := value[[]any](t, r)
	if want := `[{"n":1} "no such luck" {"a-b":[null]} {"n":2}]`; fmt.Sprint(marshalled(got)) != want {
		t.Errorf("%v", marshalled(got))
	}
	want := []execution.ToolCall{
		{Tool: "S.echo", Status: "ok"},
		{Tool: "S.echo", Status: "error", Error: "no such luck"},
		{Tool: "S.other tool", Status: "ok"},
		{Tool: "S.echo", Status: "ok"},
	}
	for i := range r.ToolCalls {
		if r.ToolCalls[i].DurationMS < 0 {
			t.Errorf("%+v", r.ToolCalls[i])
		}
		r.ToolCalls[i].DurationMS = 0
	}
	if !slices.Equal(r.ToolCalls, want) {
		t.Errorf("%+v", r.ToolCalls)
	}
}

func marshalled(list []any) []string {
	var out []string
	for _, v := range list {
		data, _ := json.Marshal(v)
		out = append(out, string(data))
	}
	return out
}

func TestAHundredCallsAreUnderWayTogether(t *testing.T) {
	for name, code := range map[string]string{
		"gather":   "r = await asyncio.gather(*(s.aio.echo(n=i) for i in range(100)))\n",
		"parallel": "r = tools.parallel([(s.echo, {'n': i}) for i in range(100)])\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := newCallBench(t, toolsFunc(gather(100).answer), 100)
			r := b.run(execution.Request{Code: fromS + code + "[x['n'] for x in r] == list(range(100))"})
			if !value[bool](t, r) {
				t.Error("the answers are mixed up")
			}
		})
	}
	t.Run("threads", func(t *testing.T) {
		b := newCallBench(t, toolsFunc(gather(40).answer), 100)
		r := b.run(execution.Request{Code: fromS + `
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(40) as pool:
    r = list(pool.map(lambda i: s.echo(n=i)["n"], range(40)))
r == list(range(40))`})
		if !value[bool](t, r) {
			t.Error("the answers are mixed up")
		}
	})
}

func TestAGearWithoutNewProcessesCallsToolsAllTheSame(t *testing.T) {
	b := newCallBenchOf(t, "restricted", toolsFunc(gather(20).answer), 100)
	r := b.run(execution.Request{Code: fromS + "r = await asyncio.gather(*(s.aio.echo(n=i) for i in range(20)))\nsum(x['n'] for x in r)"})
	if got := value[int](t, r); got != 190 {
		t.Error(got)
	}
	r = b.run(execution.Request{Code: "import tools\nhelp(tools.s.echo)"})
	if r.Status != execution.StatusOK || !strings.Contains(r.Stdout, "echo(**arguments)") {
		t.Errorf("%+v", r)
	}
}

func TestWithoutServersACallSaysSo(t *testing.T) {
	b := newCallBench(t, nil, 100)
	r := b.run(execution.Request{Code: "from tools import github"})
	if r.Status != execution.StatusError || r.Error.Code != "ServerUnavailable" || !strings.Contains(r.Error.Message, "no MCP servers are configured") {
		t.Errorf("%+v", r.Error)
	}
}

func TestLargeAnswersAndArgumentsPass(t *testing.T) {
	const size = 20 << 20
	b := newCallBench(t, toolsFunc(func(_ context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
		switch head.Tool {
		case "twenty":
			return bridge.AnswerHead{Form: bridge.FormText}, []byte(strings.Repeat("0123456789", size/10))
		case "too much":
			return bridge.AnswerHead{Form: bridge.FormText}, make([]byte, bridge.DefaultMaxFrame)
		}
		return bridge.AnswerHead{Form: bridge.FormJSON}, fmt.Append(nil, len(body))
	}), 100)
	got := value[[]any](t, b.run(execution.Request{Timeout: time.Minute, Code: fromS + `
t = tools.call("S", "twenty")
most = (16 << 20) - len('{"a":""}')
try:
    s.echo(a="x" * (most + 1))
except tools.InvalidArguments as e:
    refused = str(e)
try:
    tools.call("S", "too much")
except tools.ToolError as e:
    large = str(e)
[len(t), t == "0123456789" * (len(t) // 10), s.echo(a="x" * most), refused, large]`}))
	if got[0] != float64(size) || got[1] != true || got[2] != float64(bridge.MaxArguments) ||
		!strings.Contains(got[3].(string), "16,777,217 bytes") || !strings.Contains(got[4].(string), "ask the tool for less") {
		t.Errorf("%v", got)
	}
}

func TestOneCallTooManyNamesTheSetting(t *testing.T) {
	b := newCallBench(t, toolsFunc(echo), 3)
	r := b.run(execution.Request{Code: fromS + `
for i in range(10_000):
    s.echo(n=i)`})
	if r.Status != execution.StatusError || r.Error.Code != "CallLimitExceeded" || !strings.Contains(r.Error.Message, "limits.tool_calls") {
		t.Fatalf("%+v", r.Error)
	}
	if n := len(r.ToolCalls); n != 4 || r.ToolCalls[3].Status != "limit" {
		t.Errorf("%+v", r.ToolCalls)
	}
}

func TestALongListOfCallsIsCut(t *testing.T) {
	b := newCallBench(t, toolsFunc(echo), 1000)
	r := b.run(execution.Request{Code: fromS + "for i in range(130): s.echo(n=i)"})
	if len(r.ToolCalls) != 100 || !slices.Contains(r.Warnings, "30 more tool calls are not listed") {
		t.Errorf("%d, %v", len(r.ToolCalls), r.Warnings)
	}
}

func TestLookupsAreBounded(t *testing.T) {
	b := newCallBench(t, toolsFunc(func(context.Context, bridge.CallHead, []byte) (bridge.AnswerHead, []byte) {
		return bridge.AnswerHead{Form: bridge.FormText}, []byte("found")
	}), 1)
	r := b.run(execution.Request{Code: "import tools\nn = 0\ntry:\n    while True:\n        tools.search('x')\n        n += 1\nexcept tools.CallLimitExceeded:\n    pass\nn", Timeout: time.Minute})
	if got := value[int](t, r); got != 1000 || len(r.ToolCalls) != 0 {
		t.Errorf("%d, %v", got, r.ToolCalls)
	}
}

func TestWhatEndsARunEndsItsCalls(t *testing.T) {
	for name, c := range map[string]struct {
		code   string
		end    func(b *bench, id execution.ID)
		status execution.Status
	}{
		"cancelled":   {"s.echo(n=1)", func(b *bench, id execution.ID) { _, _ = b.engine.Cancel(context.Background(), execution.Local, id) }, execution.StatusCancelled},
		"timed out":   {"s.echo(n=1)", func(b *bench, _ execution.ID) { b.hand().fire(7 * time.Second) }, execution.StatusTimeout},
		"at its end":  {"import threading\nthreading.Thread(target=lambda: s.echo(n=1), daemon=True).start()\n" + awaitFile, letGo, execution.StatusOK},
		"by os._exit": {"import threading, os\nthreading.Thread(target=lambda: s.echo(n=1), daemon=True).start()\n" + awaitFile + "\nos._exit(0)", letGo, execution.StatusOK},
		"gone bridge": {"import threading, os\nthreading.Thread(target=lambda: s.echo(n=1), daemon=True).start()\n" + awaitFile + "\nos.closerange(3, 4096)", letGo, execution.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			begun, ended := make(chan struct{}), make(chan struct{})
			b := newCallBench(t, toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
				if head.Want == bridge.WantSearch { // a program that asks whether it may go on
					<-begun
					return bridge.AnswerHead{Form: bridge.FormText}, []byte("go")
				}
				close(begun)
				<-ctx.Done()
				close(ended)
				return failure("ToolError", "given up"), nil
			}), 100)
			if c.status == execution.StatusTimeout {
				b = b.withHand(t)
			}
			id := b.submit(execution.Request{Code: fromS + c.code, Timeout: 7 * time.Second})
			<-begun
			c.end(b, id)
			r := b.wait(id)
			<-ended
			if r.Status != c.status || len(r.ToolCalls) != 1 || r.ToolCalls[0].Status != "cancelled" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// awaitFile waits until a call is under way: the host answers a search only then.
const awaitFile = "tools.search('x')"

func letGo(*bench, execution.ID) {}

func TestACallThatTheProgramGivesUpIsCancelled(t *testing.T) {
	cancelled := make(chan struct{})
	b := newCallBench(t, toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
		if head.Tool == "wait" {
			<-cancelled
			return echo(ctx, head, body)
		}
		<-ctx.Done()
		close(cancelled)
		return failure("ToolError", "given up"), nil
	}), 100)
	r := b.run(execution.Request{Code: fromS + `
task = asyncio.create_task(s.aio.echo(n=1))
await asyncio.sleep(0.01)
task.cancel()
await tools.aio.call("S", "wait", {"n": 2})`})
	if got := value[map[string]int](t, r); got["n"] != 2 || r.ToolCalls[0].Status != "cancelled" || r.ToolCalls[0].DurationMS <= 0 || r.ToolCalls[1].Status != "ok" {
		t.Errorf("%+v", r)
	}
}

func TestAForkedProcessCannotCallAndDoesNotDisturb(t *testing.T) {
	b := newCallBench(t, toolsFunc(echo), 100)
	r := b.run(execution.Request{Code: fromS + `
import os, warnings
warnings.simplefilter("ignore")
s.echo(n=0)
read, write = os.pipe()
if os.fork() == 0:
    try:
        s.echo(n=1)
    except tools.ServerUnavailable as e:
        os.write(write, str(e).encode())
    os._exit(0)
os.wait()
[os.read(read, 1000).decode(), s.echo(n=2)["n"]]`})
	got := value[[]any](t, r)
	if !strings.Contains(got[0].(string), "only in the process that the program started in") || got[1] != 2.0 || len(r.ToolCalls) != 2 {
		t.Errorf("%v, %+v", got, r.ToolCalls)
	}
}

// hostile finds the bridge and writes to it by itself.
const hostile = `
import os, struct, json, socket, threading
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
    data = payload({"want": "call", "server": "S", "tool": "x", **head}, body)
    while True:
        part, data = data[:65536], data[65536:]
        send(chunk(9, number, part, more=1 if data else 0))
        if not data:
            return
`

func TestHostileFramesEndTheRunAndNothingElse(t *testing.T) {
	release := make(chan struct{})
	var calls atomic.Int64
	b := newCallBench(t, toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
		calls.Add(1)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return echo(ctx, head, body)
	}), 100)
	for name, code := range map[string]string{
		"an id that is due":          "call(7)\ncall(7)",
		"arguments that are no JSON": "call(7, b'{')",
		"arguments that are a list":  "call(7, b'[1]')",
		"an unknown want":            "call(7, want='everything')",
		"arguments of a search":      "call(7, want='search')",
		"a negative limit":           "call(7, b'', want='search', limit=-1)",
		"a head that is too long":    "call(7, query='x' * 70_000)",
		"a number for a name":        "call(7, tool=5)",
		"too many names":             "call(7, b'', want='describe', names=['a'] * 2000)",
		"a giant":                    "call(7, b' ' * (17 << 20) + b'{}')",
		"another kind":               "send(chunk(7, 7, payload({})))",
		"a run frame":                "send(chunk(5, 7, payload({})))",
		"a kind that does not exist": "send(chunk(99, 7, payload({})))",
		"another version":            "send(chunk(9, 7, payload({}), version=2))",
		"noise":                      "send(os.urandom(100_000))",
		"too many unfinished":        "for n in range(300): send(chunk(9, n, b'abcd', more=1))",
		"a giant result":             "send(b''.join(chunk(6, 2, b'x' * 65536, more=1) for _ in range(300)))",
	} {
		t.Run(name, func(t *testing.T) {
			r := b.run(execution.Request{Code: hostile + code + "\nthreading.Event().wait()", Timeout: time.Minute})
			if r.Status != execution.StatusError || r.Error.Code != "PROTOCOL" {
				t.Errorf("%s, %+v", r.Status, r.Error)
			}
		})
	}
	close(release)
	if got := value[map[string]int](t, b.run(execution.Request{Code: fromS + "s.echo(n=5)"})); got["n"] != 5 {
		t.Errorf("%v", got)
	}
}

func TestFloodsAreRefusedAndCostTheHostLittle(t *testing.T) {
	var now, most, all atomic.Int64
	var mu sync.Mutex
	b := newCallBench(t, toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
		all.Add(1)
		mu.Lock()
		most.Store(max(most.Load(), now.Add(1)))
		mu.Unlock()
		defer now.Add(-1)
		<-ctx.Done()
		return echo(ctx, head, body)
	}), 1_000_000)
	for name, c := range map[string]struct {
		code string
		most int64
	}{
		"calls that wait, answers unread": {"for n in range(100_000): call(10_000 + n)", bridge.MaxCalls},
		"large arguments":                 {"for n in range(10): call(10_000 + n, b' ' * (15 << 20) + b'{}')", 2},
		"cancels of nothing":              {"for n in range(10_000): send(chunk(11, n, payload({})))\ncall(10_000)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			most.Store(0)
			// The end has to be heard through the flood, so that another thread reads.
			reader := "threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(fd, 1 << 20), b'')], daemon=True).start()\n"
			r := b.run(execution.Request{Code: hostile + reader + c.code + "\n'done'", Timeout: time.Minute})
			if got := value[string](t, r); got != "done" || most.Load() != c.most || len(r.ToolCalls) > 100 {
				t.Errorf("%q, %d at once, %d told", got, most.Load(), len(r.ToolCalls))
			}
		})
	}
}

func TestAProgramThatReadsNoAnswersHoldsUpOnlyItself(t *testing.T) {
	b := newCallBench(t, toolsFunc(func(context.Context, bridge.CallHead, []byte) (bridge.AnswerHead, []byte) {
		return bridge.AnswerHead{Form: bridge.FormText}, make([]byte, 1<<20)
	}), 1_000_000)
	id := b.submit(execution.Request{Code: hostile + "print('begun', flush=True)\nfor n in range(100_000): call(10_000 + n)", Timeout: time.Minute})
	b.until(id, func(r execution.Result) bool { return r.Stdout == "begun\n" })
	if got := value[int](t, b.run(execution.Request{Code: "6 * 7"})); got != 42 {
		t.Error(got)
	}
	r, err := b.engine.Cancel(t.Context(), execution.Local, id)
	if err != nil || r.Status != execution.StatusCancelled {
		t.Errorf("%+v, %v", r, err)
	}
	// One that ends without reading ends all the same.
	r = b.run(execution.Request{Code: hostile + "for n in range(20): call(10_000 + n)\n5", Timeout: time.Minute})
	if got := value[int](t, r); got != 5 {
		t.Error(got)
	}
}

func TestCallsAfterTheResultAreNotMade(t *testing.T) {
	var after atomic.Int64
	b := newCallBench(t, toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
		after.Add(1)
		return echo(ctx, head, body)
	}), 100)
	r := b.run(execution.Request{Code: hostile + `send(chunk(6, 2, payload({"outcome": "ok", "exit_code": 0, "value": 5})))
call(10_000)
call(10_001)`})
	if got := value[int](t, r); got != 5 || after.Load() != 0 || len(r.ToolCalls) != 0 {
		t.Errorf("%d, %d calls", got, after.Load())
	}
}

func TestProgramsThatUseNoToolsStartNoThread(t *testing.T) {
	b := newCallBench(t, toolsFunc(echo), 100)
	for code, threads := range map[string]int{"": 1, "import tools\n": 1, "from tools import s\ns.echo(n=1)\n": 2} {
		r := b.run(execution.Request{Code: code + "import os\nlen(os.listdir('/proc/self/task'))"})
		if r.Status != execution.StatusOK {
			t.Skipf("no /proc: %+v", r.Error)
		}
		if got := value[int](t, r); got != threads {
			t.Errorf("%q: %d threads", code, got)
		}
	}
}

// BenchmarkCall is what a call of a tool costs a program, beside what the tool itself
// takes, as the program measures it: the import and the first call, the medians of one
// call at a time, and the mean of a hundred together.
func BenchmarkCall(b *testing.B) {
	bench := newCallBench(b, toolsFunc(echo), 1_000_000)
	code := `
import time
began = time.perf_counter_ns()
from tools import s
s.echo()
first = time.perf_counter_ns() - began
import asyncio, statistics
def laps(n):
    for _ in range(n):
        began = time.perf_counter_ns()
        s.echo(title="a title", body="x" * 200)
        yield time.perf_counter_ns() - began
list(laps(100))
one = statistics.median(laps(2000))
async def alone(n):
    for _ in range(n):
        began = time.perf_counter_ns()
        await s.aio.echo(title="a title", body="x" * 200)
        yield time.perf_counter_ns() - began
awaited = statistics.median([lap async for lap in alone(1000)])
began = time.perf_counter_ns()
for _ in range(10):
    await asyncio.gather(*(s.aio.echo(n=i) for i in range(100)))
[first, one, awaited, (time.perf_counter_ns() - began) / 1000]`
	for b.Loop() {
		r := bench.run(execution.Request{Code: code, Timeout: time.Minute})
		got := value[[]float64](b, r)
		b.ReportMetric(got[0]/1000, "µs/import-and-first")
		b.ReportMetric(got[1]/1000, "µs/call-p50")
		b.ReportMetric(got[2]/1000, "µs/awaited-p50")
		b.ReportMetric(got[3]/1000, "µs/gathered")
	}
}
