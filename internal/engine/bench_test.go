//go:build unix

package engine_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/host"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

// benchConfig is what a test changes of an ordinary engine.
type benchConfig struct {
	gear         string // user_confirmed when empty
	clock        engine.Clock
	turns, queue int
	patience     time.Duration // nobody is asked when zero
	tools        engine.Tools
	gears        engine.Gears // by the gear's name when nil
	place        boxPlace     // without walls when empty
}

// bench is an engine over real processes without isolation: the engine's own
// behaviour is under test, not the wall.
type bench struct {
	t        testing.TB
	engine   *engine.Engine
	config   engine.Config
	events   *events
	journal  *storetest.Memory
	children *counted
	clock    engine.Clock
}

func newBench(t *testing.T, c benchConfig) *bench {
	t.Helper()
	python := cpythontest.Interpreter(t)
	return newBenchOver(t, c, host.New(host.Config{Interpreters: resolve(python)}), python)
}

func newBenchOver(t testing.TB, c benchConfig, backend sandbox.Backend, python cpython.Installation) *bench {
	t.Helper()
	p := pool.New(backend, pool.Config{Turns: pool.NewTurns(c.turns, 0)})
	t.Cleanup(func() { _ = p.Close() })
	b := &bench{t: t, events: &events{}, children: &counted{Children: p}, clock: c.clock}
	if b.clock == nil {
		b.clock = wallClock{}
	}
	journal := storetest.NewMemory(b.events.take)
	b.journal = journal
	door, err := authz.New(authz.Config{
		Recorder: journal, Patience: func() time.Duration { return c.patience }, Now: time.Now,
		Mechanisms: func(gear.Frozen, policy.Permission) (bool, string) { return true, "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.config = engine.Config{
		Journal: journal, Gears: named(c.gear), Door: door, Clock: b.clock, Logger: slog.New(slog.DiscardHandler),
		Places: place{b.children, python}, Exists: func(path string) bool { return !strings.Contains(path, "no_such") }, Getenv: func(string) (string, bool) { return "", false },
		Queue: c.queue, Tools: c.tools,
	}
	if c.gears != nil {
		b.config.Gears, b.config.Places = c.gears, c.place.over(b.children)
	}
	b.engine = b.another(t)
	return b
}

// another is an engine of another process over the same records.
func (b *bench) another(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.New(b.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func resolve(i cpython.Installation) func(context.Context, execution.Digest) (sandbox.Interpreter, error) {
	return func(context.Context, execution.Digest) (sandbox.Interpreter, error) {
		return sandbox.Interpreter{Digest: i.Digest, Version: i.Version, Embedded: i.Embedded, Executable: i.Executable, Root: i.Root}, nil
	}
}

func (b *bench) submit(r execution.Request) execution.ID {
	b.t.Helper()
	r.Principal, r.Language = execution.Local, cmp.Or(r.Language, execution.Python)
	id, err := b.engine.Submit(b.t.Context(), r)
	if err != nil {
		b.t.Error(err)
	}
	return id
}

// wait waits until the operation has ended, however long that takes.
func (b *bench) wait(id execution.ID) execution.Result {
	b.t.Helper()
	return b.until(id, func(r execution.Result) bool { return r.Status.Final() })
}

func (b *bench) run(r execution.Request) execution.Result {
	b.t.Helper()
	return b.wait(b.submit(r))
}

// until asks again and again until the answer is as wanted; the test's own time
// limit is what ends a wait in vain.
func (b *bench) until(id execution.ID, ok func(execution.Result) bool) execution.Result {
	b.t.Helper()
	for {
		r, err := b.engine.Wait(b.t.Context(), execution.Local, id, time.Millisecond)
		if err != nil {
			b.t.Error(err)
			return r
		}
		if ok(r) {
			return r
		}
		if r.Status.Final() || b.t.Context().Err() != nil {
			b.t.Errorf("ended too early: %+v", r)
			return r
		}
	}
}

// withHand is the bench with an engine whose clock a test sets.
func (b *bench) withHand(t testing.TB) *bench {
	t.Helper()
	b.clock = &handClock{}
	b.config.Clock = b.clock
	b.engine = b.another(t)
	return b
}

func (b *bench) hand() *handClock { return b.clock.(*handClock) }

type place struct {
	children engine.Children
	python   cpython.Installation
}

func (p place) Place(context.Context, execution.Principal, gear.Frozen, execution.Language) (engine.Place, error) {
	return engine.Place{
		Children: p.children, Backend: "host", Isolation: execution.LevelNone,
		Template: sandbox.Template{Interpreter: p.python.Digest, Language: execution.Python},
	}, nil
}

// counted counts the children that were handed out, and lifts what the host
// backend refuses to do: it cannot narrow a process to no forks.
type counted struct {
	engine.Children
	started atomic.Int64
}

func (c *counted) Child(ctx context.Context, t sandbox.Template, p execution.Principal) (sandbox.Child, func(), error) {
	c.started.Add(1)
	return c.Children.Child(ctx, t, p)
}

type named string

func (n named) Freeze(execution.Principal, string) (gear.Frozen, error) {
	name := string(n)
	if name == "" {
		name = "user_confirmed"
	}
	for _, g := range gear.Builtin() {
		if g.Name == name {
			return gear.Freeze(g, nil, nil, gear.Overlays{})
		}
	}
	return gear.Frozen{}, errors.New("no such gear")
}

// fullError tells callers what is wrong in other words than the log.
type fullError struct{ error }

func (*fullError) Reason() string { return "no paper is left" }

// events is the sink of the record; it can fail at one type of event.
type events struct {
	mu   sync.Mutex
	list []audit.Event
	bad  audit.Type
}

func (e *events) take(_ context.Context, list ...audit.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range list {
		if ev.Type == e.bad {
			return &fullError{errors.New("the record is full")}
		}
	}
	e.list = append(e.list, list...)
	return nil
}

func (e *events) failOn(t audit.Type) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bad = t
}

func (e *events) last() audit.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list[len(e.list)-1]
}

func (e *events) all() []audit.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

func (e *events) types() []audit.Type {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []audit.Type
	for _, ev := range e.list {
		out = append(out, ev.Type)
	}
	return out
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// handClock fires only what a test tells it to. Waits as short as two milliseconds
// are real, so that a test can look at what is going on.
type handClock struct {
	mu     sync.Mutex
	timers []*handTimer
}

type handTimer struct {
	d time.Duration
	f func()
}

func (c *handClock) Now() time.Time { return time.Now() }

func (c *handClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d <= 2*time.Millisecond {
		return time.AfterFunc(d, f).Stop
	}
	t := &handTimer{d, f}
	c.mu.Lock()
	c.timers = append(c.timers, t)
	c.mu.Unlock()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := len(c.timers)
		c.timers = slices.DeleteFunc(c.timers, func(o *handTimer) bool { return o == t })
		return len(c.timers) < n
	}
}

// fireUntil fires those timers, which may come and come again, until it is done.
func (c *handClock) fireUntil(d time.Duration, done func() bool) {
	for !done() {
		c.fire(d)
		runtime.Gosched()
	}
}

// fire fires the timers of exactly this duration.
func (c *handClock) fire(d time.Duration) {
	c.mu.Lock()
	var due []*handTimer
	c.timers = slices.DeleteFunc(c.timers, func(t *handTimer) bool {
		if t.d == d {
			due = append(due, t)
		}
		return t.d == d
	})
	c.mu.Unlock()
	for _, t := range due {
		t.f()
	}
}
