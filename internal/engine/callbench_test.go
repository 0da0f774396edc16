//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/host"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// newCallBench is a bench whose programs may call tools that often, in a sandbox where
// one can be built.
func newCallBench(t testing.TB, tools engine.Tools, calls int) *bench {
	t.Helper()
	return newCallBenchOf(t, "user_confirmed", tools, calls)
}

func newCallBenchOf(t testing.TB, gearName string, tools engine.Tools, calls int) *bench {
	t.Helper()
	python := cpythontest.Interpreter(t)
	backend, g := boxed(t, python), callGear(gearName, calls)
	if backend == nil {
		backend, g = host.New(host.Config{Interpreters: resolve(python)}), callGear("full_trust", calls)
	}
	return newBenchOver(t, benchConfig{tools: tools, gears: g, place: boxPlace{python: python, gear: g}}, backend, python)
}

// callGears decides by one gear, whoever asks.
type callGears struct{ gear.Frozen }

func callGear(name string, calls int) callGears {
	for _, g := range gear.Builtin() {
		if g.Name != name {
			continue
		}
		g.Limits.ToolCalls = calls
		overlays := gear.Overlays{}
		if name != "full_trust" {
			rule, err := policy.ParseRule("tool(**)")
			if err != nil {
				panic(err)
			}
			overlays.Allow = []policy.Rule{rule}
		}
		f, err := gear.Freeze(g, nil, nil, overlays)
		if err != nil {
			panic(err)
		}
		return callGears{f}
	}
	panic("no gear " + name)
}

func (g callGears) Freeze(execution.Principal, string) (gear.Frozen, error) { return g.Frozen, nil }

// boxPlace is the place that the gear needs.
type boxPlace struct {
	python   cpython.Installation
	gear     callGears
	children engine.Children
}

func (p boxPlace) over(c engine.Children) engine.Places {
	p.children = c
	return p
}

func (p boxPlace) Place(context.Context, execution.Principal, gear.Frozen, execution.Language) (engine.Place, error) {
	l, level := p.gear.Limits(), execution.LevelFull
	shape := sandbox.Shape{
		Programs: strings.Join(p.gear.Programs(), ","), NoFork: !p.gear.Forks(), NoExec: p.gear.Programs() == nil,
		Timeout: l.MaxTimeout, Memory: l.Memory, Processes: l.Processes, OpenFiles: l.OpenFiles, Scratch: l.Scratch, ScratchFiles: l.ScratchFiles,
	}
	if p.gear.Name() == "full_trust" {
		shape, level = sandbox.Shape{}, execution.LevelNone
	}
	return engine.Place{
		Children: p.children, Backend: "test", Isolation: level,
		Template: sandbox.Template{Interpreter: p.python.Digest, Language: execution.Python, Class: execution.ClassLocal, Shape: shape},
	}, nil
}

// toolsFunc answers calls; modules are described for it.
type toolsFunc func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte)

func (toolsFunc) Prepare(_ context.Context, server, name string, arguments json.RawMessage) (engine.Prepared, error) {
	d := tool.Definition{Server: server, Name: name}
	return engine.Prepared{Entry: catalog.Entry{Definition: d, Pin: catalog.Pin(d)}, Arguments: arguments}, nil
}

func (f toolsFunc) Perform(ctx context.Context, p engine.Prepared, permit authz.Permit) (engine.Answered, error) {
	if !permit.Use(p.Subject) {
		return engine.Answered{}, errors.New("no permit")
	}
	d := p.Entry.Definition
	head := bridge.CallHead{Want: bridge.WantCall, Server: d.Server, Tool: d.Name}
	if d.Name == engine.ReadResource {
		var of struct{ URI string }
		if err := json.Unmarshal(p.Arguments, &of); err != nil {
			return engine.Answered{}, err
		}
		head = bridge.CallHead{Want: bridge.WantRead, Server: d.Server, URI: of.URI}
	}
	answer, body := f(ctx, head, p.Arguments)
	a := engine.Answered{Head: answer, Body: body}
	if e := answer.Error; e != nil {
		return a, &tool.Error{Class: tool.Class(e.Class), Message: e.Message, Server: e.Server, Tool: e.Tool}
	}
	return a, nil
}

func (f toolsFunc) Ask(ctx context.Context, head bridge.CallHead) (bridge.AnswerHead, []byte) {
	if head.Want != bridge.WantModule {
		return f(ctx, head, nil)
	}
	if head.Server == "" {
		return bridge.AnswerHead{Form: bridge.FormJSON}, []byte(`{"version":1,"modules":[{"module":"s","server":"S","doc":""}]}`)
	}
	return bridge.AnswerHead{Form: bridge.FormJSON}, []byte(`{"version":1,"server":"S","module":"s","doc":"","functions":[
		{"python":"echo","raw":"echo","signature":"(**arguments)","doc":"","parameters":[]}]}`)
}

// echo answers with the arguments.
func echo(_ context.Context, _ bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
	return bridge.AnswerHead{Form: bridge.FormJSON}, body
}

// gathering answers once so many calls are there.
type gathering struct {
	mu   sync.Mutex
	left int
	all  chan struct{}
}

func gather(n int) *gathering { return &gathering{left: n, all: make(chan struct{})} }

func (g *gathering) answer(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
	g.mu.Lock()
	if g.left--; g.left == 0 {
		close(g.all)
	}
	g.mu.Unlock()
	select {
	case <-g.all:
		return echo(ctx, head, body)
	case <-ctx.Done():
		return failure("ToolError", "given up"), nil
	}
}

func failure(class, message string) bridge.AnswerHead {
	return bridge.AnswerHead{Error: &bridge.CallError{Class: class, Message: message}}
}

// value is what a program ended with.
func value[T any](t testing.TB, r execution.Result) T {
	t.Helper()
	var v T
	if r.Status != execution.StatusOK {
		t.Fatalf("status %s: %+v\n%s", r.Status, r.Error, r.Stderr)
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		t.Fatalf("value %.200s: %v", r.Value, err)
	}
	return v
}
