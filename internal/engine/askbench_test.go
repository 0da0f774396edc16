//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// shiftClock is the real clock with time that a test adds.
type shiftClock struct {
	mu     sync.Mutex // guards what follows
	offset time.Duration
	timers map[*shiftTimer]struct{}
}

type shiftTimer struct {
	due  time.Time
	once sync.Once
	f    func()
	stop func() bool
}

func (c *shiftClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *shiftClock) AfterFunc(d time.Duration, f func()) func() bool {
	t := &shiftTimer{due: c.Now().Add(d), f: f}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers == nil {
		c.timers = map[*shiftTimer]struct{}{}
	}
	c.timers[t] = struct{}{}
	t.stop = time.AfterFunc(d, func() { c.fire(t) }).Stop
	return func() bool {
		stopped := c.forget(t)
		t.stop()
		return stopped
	}
}

func (c *shiftClock) forget(t *shiftTimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.timers[t]
	delete(c.timers, t)
	return there
}

func (c *shiftClock) fire(t *shiftTimer) {
	if c.forget(t) {
		t.once.Do(t.f)
	}
}

// pass lets time pass.
func (c *shiftClock) pass(d time.Duration) {
	c.mu.Lock()
	c.offset += d
	now := time.Now().Add(c.offset)
	var due []*shiftTimer
	for t := range c.timers {
		if !now.Before(t.due) {
			due = append(due, t)
		}
	}
	c.mu.Unlock()
	for _, t := range due {
		c.fire(t)
	}
}

// askGears asks a human about every call of a tool, under rules that can be changed.
type askGears struct {
	mu    sync.Mutex // guards what follows
	rules gear.Overlays
	calls int
	gear  string
}

// Freeze implements [engine.Gears].
func (g *askGears) Freeze(execution.Principal, string) (gear.Frozen, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range gear.Builtin() {
		if one.Name == g.gear {
			one.Limits.ToolCalls = g.calls
			return gear.Freeze(one, nil, nil, g.rules)
		}
	}
	return gear.Frozen{}, errors.New("no such gear")
}

func (g *askGears) set(o gear.Overlays) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = o
}

// asker is a bench whose programs call a server s, each call of which needs a yes.
type asker struct {
	*bench

	t      *testing.T
	gears  *askGears
	server *asked
	clock  *shiftClock
	hold   *holding
}

// holdChildren has the programs from now on run in children that a test holds.
func (a *asker) holdChildren() {
	a.t.Helper()
	a.hold = &holding{Children: a.children}
	of := a.config.Places.(place)
	a.config.Places = heldPlace{of, a.hold}
	a.engine = a.another(a.t)
}

type heldPlace struct {
	place

	hold *holding
}

func (p heldPlace) Place(ctx context.Context, who execution.Principal, g gear.Frozen, l execution.Language) (engine.Place, error) {
	out, err := p.place.Place(ctx, who, g, l)
	out.Children = p.hold
	return out, err
}

// asked answers each call with its arguments, and keeps which were made.
type asked struct {
	toolsFunc

	mu      sync.Mutex // guards what follows
	made    []string
	pin     string
	changed string
	slow    chan struct{} // what a call waits for, if there is one
}

func (s *asked) Prepare(ctx context.Context, server, name string, arguments json.RawMessage) (engine.Prepared, error) {
	if server == "" {
		server, name, _ = strings.Cut(name, ".")
	}
	p, err := s.toolsFunc.Prepare(ctx, server, name, arguments)
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Entry.Pin = execution.DigestOf([]byte(s.pin))
	p.Changed = s.changed
	return p, err
}

func (s *asked) Perform(ctx context.Context, p engine.Prepared, permit authz.Permit) (engine.Answered, error) {
	s.mu.Lock()
	s.made = append(s.made, string(p.Arguments))
	slow := s.slow
	s.mu.Unlock()
	if slow != nil {
		select {
		case <-slow:
		case <-ctx.Done():
			return engine.Answered{}, ctx.Err()
		}
	}
	return s.toolsFunc.Perform(ctx, p, permit)
}

func (s *asked) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.made)
}

func (s *asked) describe(pin, changed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pin, s.changed = pin, changed
}

// newAsker is an asker; change alters its configuration.
func newAsker(t *testing.T, c benchConfig, change func(*engine.Config)) *asker {
	t.Helper()
	if c.patience == 0 {
		c.patience = time.Hour
	}
	a := &asker{
		t: t, gears: &askGears{calls: 200, gear: "user_confirmed"}, clock: &shiftClock{},
		server: &asked{toolsFunc: toolsFunc(func(ctx context.Context, head bridge.CallHead, body []byte) (bridge.AnswerHead, []byte) {
			if strings.Contains(string(body), "fails") {
				return failure("ToolError", "no such luck"), nil
			}
			return echo(ctx, head, body)
		})},
	}
	c.tools, c.clock = a.server, a.clock
	a.bench = newBench(t, c)
	a.config.Gears = a.gears
	if change != nil {
		change(&a.config)
	}
	a.engine = a.another(t)
	return a
}

// call submits a program that calls s, under a timeout of two seconds.
func (a *asker) call(code string) execution.ID {
	a.t.Helper()
	return a.submit(execution.Request{Code: fromS + code, Timeout: 2 * time.Second})
}

// questions waits until so many calls of the run are asked about, and returns them.
func (a *asker) questions(run execution.ID, n int) []execution.Record {
	a.t.Helper()
	for a.t.Context().Err() == nil {
		var found []execution.Record
		open, err := a.desk().Open(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		for _, r := range open {
			if c, err := execution.ParseCall(r.Request.Code); err == nil && r.Request.Language == execution.Tool && c.Run == run {
				found = append(found, r)
			}
		}
		if len(found) == n {
			return found
		}
		if r, err := a.engine.Wait(a.t.Context(), execution.Local, run, time.Millisecond); err != nil || r.Status.Final() {
			a.t.Fatalf("%d questions instead of %d, and the run has ended: %+v, %v", len(found), n, r, err)
		}
	}
	return nil
}

func (a *asker) question(run execution.ID) execution.Record {
	a.t.Helper()
	return a.questions(run, 1)[0]
}

func (a *asker) decide(r execution.Record, v execution.Verdict, message string) {
	a.t.Helper()
	d := yes(r.ID, r.Approval)
	d.Verdict, d.Message = v, message
	if err := a.desk().Decide(a.t.Context(), d); err != nil {
		a.t.Fatal(err)
	}
}

// approve says yes and has that taken up.
func (a *asker) approve(r execution.Record) {
	a.t.Helper()
	a.decide(r, execution.Approved, "")
	if a.resume() != 1 {
		a.t.Error("the call was not taken up")
	}
}

// holding are children that a test can end, and whose resting it counts.
type holding struct {
	engine.Children

	rested, woke atomic.Int64
	full         atomic.Bool
	mu           sync.Mutex // guards last
	last         sandbox.Child
}

type heldChild struct {
	sandbox.Child

	of *holding
}

func (h *holding) Child(ctx context.Context, t sandbox.Template, p execution.Principal) (sandbox.Child, func(), error) {
	c, release, err := h.Children.Child(ctx, t, p)
	if err != nil {
		return c, release, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = c
	return heldChild{c, h}, release, nil
}

func (c heldChild) Rest() (wake func(), ok bool) {
	if c.of.full.Load() {
		return nil, false
	}
	c.of.rested.Add(1)
	return func() { c.of.woke.Add(1) }, true
}

func (h *holding) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last.Kill(sandbox.CauseMemory)
}
