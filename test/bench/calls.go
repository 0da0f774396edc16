//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// callsRole is the argument that makes this program the server whose tools are called.
const callsRole = "serve-calls"

const (
	// callBlock is how many calls follow each other: those of one program.
	callBlock = 100
	// slowCall is what a slow tool takes.
	slowCall = 500 * time.Millisecond
	// largeResult is one that is as long as results get, in bytes.
	largeResult = 20_000_000
)

type callInput struct {
	Text  string `json:"text,omitempty"`
	MS    int    `json:"ms,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

type callOutput struct {
	Text string `json:"text"`
}

// serveCalls answers over standard input and output, as fast as the SDK can.
func serveCalls(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "calls", Version: "1"}, nil)
	add := func(name, does string, f func(context.Context, callInput) string) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: does}, func(ctx context.Context, _ *mcp.CallToolRequest, in callInput) (*mcp.CallToolResult, callOutput, error) {
			return nil, callOutput{f(ctx, in)}, nil
		})
	}
	add("echo", "answers with the text", func(_ context.Context, in callInput) string { return in.Text })
	add("wait", "answers after so many milliseconds", func(ctx context.Context, in callInput) string {
		rest(ctx, time.Duration(in.MS)*time.Millisecond)
		return ""
	})
	mcp.AddTool(s, &mcp.Tool{Name: "large", Description: "answers with so many bytes"},
		func(_ context.Context, _ *mcp.CallToolRequest, in callInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("0123456789abcde\n", in.Bytes/16)}}}, nil, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// calls measures calls of tools from inside the sandbox.
func calls(ctx context.Context, b *bench) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	gearbox, pid, err := b.callSession(ctx, self)
	if err != nil {
		return err
	}
	defer func() { _ = gearbox.Close() }()
	direct, _, err := connect(ctx, eras[0], self, callsRole)
	if err != nil {
		return err
	}
	defer func() { _ = direct.Close() }()
	fleet, err := openFleet(ctx, self)
	if err != nil {
		return err
	}
	defer func() { _ = fleet.Close() }()
	c := callers{b, gearbox, direct, fleet}
	if err := c.addedCost(ctx); err != nil {
		return err
	}
	return c.manyAndLarge(ctx, pid)
}

// callers are those of the server: Gearbox, the SDK, and what Gearbox uses.
type callers struct {
	*bench

	gearbox, direct *mcp.ClientSession
	fleet           *upstream.Fleet
}

// openFleet is the sessions of Gearbox without Gearbox.
func openFleet(ctx context.Context, self string) (*upstream.Fleet, error) {
	redactor, err := logging.NewRedactor(logging.Rules{})
	if err != nil {
		return nil, err
	}
	fleet, err := upstream.New([]upstream.Spec{{Name: "calls", Transport: upstream.Stdio, Command: []string{self, callsRole}}},
		upstream.Options{Logger: slog.New(slog.DiscardHandler), Redactor: redactor, Version: "bench"})
	if err != nil {
		return nil, err
	}
	fleet.Start(ctx)
	if _, err := fleet.Server(ctx, "calls"); err != nil {
		return nil, errors.Join(err, fleet.Close())
	}
	return fleet, nil
}

// callSession is one with Gearbox, whose programs may call the server, and often.
func (b *bench) callSession(ctx context.Context, self string) (*mcp.ClientSession, int, error) {
	servers, err := json.Marshal(map[string]any{"servers": map[string]any{
		"calls": map[string]any{"command": self, "args": []string{callsRole}, "max_concurrency": 128},
	}})
	if err != nil {
		return nil, 0, err
	}
	file, gear := filepath.Join(b.scratch, "servers.json"), filepath.Join(b.scratch, "calls.yaml")
	err = errors.Join(os.WriteFile(file, servers, 0o600),
		os.WriteFile(gear, []byte("description: many calls\nextends: user_confirmed\nlimits:\n  tool_calls: 1000\n"), 0o600))
	if err != nil {
		return nil, 0, err
	}
	return b.gearboxSession(ctx, eras[1], "--mcp-servers", file, "--gear", gear, "--allow", "tool(calls.**)")
}

// timedCalls is a program that tells how long each of its calls took, in milliseconds.
var timedCalls = `from time import perf_counter
from tools import calls
calls.echo(text="first")
took = []
for n in range(` + strconv.Itoa(callBlock) + `):
    start = perf_counter()
    answer = calls.echo(text="call %d" % n)
    took.append((perf_counter() - start) * 1e3)
    assert answer["text"] == "call %d" % n
took`

// addedCost has calls of a program take turns with calls of the same session without one.
func (c callers) addedCost(ctx context.Context) error {
	r := race{
		title: "Calls of tools",
		about: fmt.Sprintf("A fast server over stdio, made with the Go SDK. Blocks of %d calls, one right after the other. Inside a program each call is found, checked against its schema, "+
			"decided, recorded before and after (SQLite, the audit chain) and answered through the bridge; without one, the same session of Gearbox with the server is called from Go.", callBlock),
		turns: max(c.n/10, 3), block: callBlock, pace: settle,
		entrants: []entrant{
			{key: "call.session", name: "the session that Gearbox has with the server"},
			{key: "call.sdk", name: "a session of the SDK with the server"},
			{key: "call.inside", name: "a program in the sandbox, through Gearbox"},
		},
	}
	blocks := []func() ([]float64, error){
		each(func(text string) error {
			_, err := c.fleet.Call(ctx, "calls", "echo", json.RawMessage(`{"text":"`+text+`"}`))
			return err
		}),
		each(func(text string) error {
			_, err := c.direct.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"text":"` + text + `"}`)})
			return err
		}),
		func() ([]float64, error) { return floats(ctx, c.gearbox, timedCalls) },
	}
	result, absent := make([]series, len(blocks)), make([]error, len(blocks))
	for turn := -1; turn < r.turns && ctx.Err() == nil; turn++ {
		for step := range blocks {
			i := (step + turn + 1) % len(blocks)
			rest(ctx, r.pace)
			took, err := blocks[i]()
			if err != nil {
				return err
			}
			for n, ms := range took {
				if turn >= 0 {
					result[i] = append(result[i], sample{turn*callBlock + n, ms})
				}
			}
		}
	}
	for i, e := range r.entrants {
		c.report.series(e.key, result[i])
	}
	c.report.add(r.section(result, absent))
	c.report.differ("more.call", "call.inside", "call.session")
	c.report.differ("more.call.sdk", "call.inside", "call.sdk")
	return ctx.Err()
}

// each times a block of calls from Go.
func each(call func(text string) error) func() ([]float64, error) {
	return func() ([]float64, error) {
		var took []float64
		for n := range callBlock {
			start := time.Now()
			if err := call("call " + strconv.Itoa(n)); err != nil {
				return nil, err
			}
			took = append(took, float64(time.Since(start).Nanoseconds())/1e6)
		}
		return took, nil
	}
}

// answer runs a program over MCP.
func answer(ctx context.Context, s *mcp.ClientSession, code string) (execution.Result, error) {
	var out execution.Result
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": code, "timeout_seconds": 60}})
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err == nil && out.Status != execution.StatusOK {
		err = fmt.Errorf("status %s: %s", out.Status, out.Stderr)
	}
	return out, err
}

// floats runs a program whose value is a list of numbers.
func floats(ctx context.Context, s *mcp.ClientSession, code string) ([]float64, error) {
	r, err := answer(ctx, s, code)
	if err != nil {
		return nil, err
	}
	var all []float64
	return all, json.Unmarshal(r.Value, &all)
}

// gathered tells how long one slow call takes, and so many at once.
var gathered = fmt.Sprintf(`import asyncio
from time import perf_counter
from tools import calls
calls.echo(text="first")
start = perf_counter()
calls.wait(ms=%[1]d)
one = perf_counter()
await asyncio.gather(*[calls.aio.wait(ms=%[1]d) for _ in range(100)])
[(one - start) * 1e3, (perf_counter() - one) * 1e3]`, slowCall.Milliseconds())

// fetched tells how long a large result takes.
var fetched = fmt.Sprintf(`from time import perf_counter
from tools import calls
calls.echo(text="first")
start = perf_counter()
text = calls.large(bytes=%[1]d)
took = (perf_counter() - start) * 1e3
assert len(text) == %[1]d
[took]`, largeResult)

// manyAndLarge measures slow calls at once, and a large result.
func (c callers) manyAndLarge(ctx context.Context, pid int) error {
	s := section{
		Title: "Many calls at once, and a large result",
		About: fmt.Sprintf("One call of a tool that takes %v, then a hundred of them by asyncio.gather in the same program. A result of %d MB is text in a list of content, "+
			"which the server sends as one message and the program has as one string; a session as the SDK opens it takes no message that long.", slowCall, largeResult/1_000_000),
		Columns: []string{"what", "p50", "slowest"},
	}
	var one, hundred, large, own series
	before := peak(pid)
	for turn := range 5 {
		took, err := floats(ctx, c.gearbox, gathered)
		if err != nil {
			return err
		}
		one, hundred = append(one, sample{turn, took[0]}), append(hundred, sample{turn, took[1]})
	}
	many := peak(pid)
	var memory float64
	for turn := range 5 {
		bare, err := timed(c.largeByFleet)(ctx)
		if err != nil {
			return err
		}
		own = append(own, sample{turn, float64(bare.Nanoseconds()) / 1e6})
		r, err := answer(ctx, c.gearbox, fetched)
		if err != nil {
			return err
		}
		var took []float64
		if err := json.Unmarshal(r.Value, &took); err != nil {
			return err
		}
		large = append(large, sample{turn, took[0]})
		memory = max(memory, float64(r.MemoryPeak)/1e6)
	}
	c.report.series("call.slow", one)
	c.report.series("call.gather", hundred)
	c.report.series("call.large", large)
	c.report.compare("call.gather", "call.slow")
	row := func(name string, of series) {
		s.Rows = append(s.Rows, []string{name, number(of.percentile(50)) + " ms", number(of.percentile(100)) + " ms"})
	}
	row("one slow call", one)
	row("a hundred at once", hundred)
	row("a result of 20 MB, by the session that Gearbox has with the server", own)
	row("the same, by a program in the sandbox", large)
	s.Rows = append(s.Rows,
		[]string{"the program that has it: peak memory", "", number(memory) + " MB"},
		[]string{"Gearbox: peak memory before, with a hundred calls, with the large results", "", fmt.Sprintf("%s, %s, %s MB", number(before), number(many), number(peak(pid)))})
	c.report.add(s)
	return nil
}

func (c callers) largeByFleet(ctx context.Context) error {
	r, err := c.fleet.Call(ctx, "calls", "large", json.RawMessage(fmt.Sprintf(`{"bytes":%d}`, largeResult)))
	if err == nil && (len(r.Blocks) != 1 || len(r.Blocks[0].Text) != largeResult) {
		err = errors.New("the result is not whole")
	}
	return err
}

// peak is the most memory that a process has had, in MB.
func peak(pid int) float64 {
	kb, err := strconv.ParseFloat(strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/status", pid), "VmHWM"), " kB"), 64)
	if err != nil {
		return 0
	}
	return kb * 1024 / 1e6
}
