package pool_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// backend makes children that only count. What goes wrong is set by the test.
type backend struct {
	level execution.Level // full when empty

	mu        sync.Mutex // guards what follows, and all sources and children
	opened    []*source
	openErr   error
	startErr  error
	stillborn bool          // sources end as soon as they have a child
	sickly    bool          // children die at once
	stuck     *source       // makes no more children
	slow      chan struct{} // what Open waits for, if there is one
	step      chan struct{} // what Start waits for, if there is one
	starting  int           // children that are being made
	refused   int           // those that were not made
	keep      bool          // all children are kept in mind
	all       []*child
}

func (b *backend) Name() string                         { return "test" }
func (b *backend) Probe(context.Context) sandbox.Report { return sandbox.Report{} }

func (b *backend) Open(ctx context.Context, t sandbox.Template) (sandbox.Source, error) {
	b.mu.Lock()
	slow := b.slow
	b.mu.Unlock()
	if slow != nil {
		select {
		case <-slow:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.openErr != nil {
		return nil, b.openErr
	}
	s := &source{b: b, template: t, done: make(chan struct{}), level: b.level, children: map[*child]struct{}{}}
	if s.level == "" {
		s.level = execution.LevelFull
	}
	b.opened = append(b.opened, s)
	return s, nil
}

// set changes what goes wrong.
func (b *backend) set(change func(*backend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *backend) sources() []*source {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.opened)
}

// children are those that are not dead.
func (b *backend) children() []*child {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*child
	for _, s := range b.opened {
		all = slices.AppendSeq(all, maps.Keys(s.children))
	}
	return all
}

func (b *backend) alive() int { return len(b.children()) }

// startingNow counts the children that are being made.
func (b *backend) startingNow() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.starting
}

type source struct {
	b        *backend
	template sandbox.Template
	level    execution.Level
	done     chan struct{}

	children map[*child]struct{} // those alive
	warm     []bool              // of each child that was made
	ended    bool
	closed   bool
}

func (s *source) Level() execution.Level { return s.level }
func (s *source) Done() <-chan struct{}  { return s.done }

// end is the death of the source, and of its children before it.
func (s *source) end() {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.endLocked(sandbox.CauseNone)
}

func (s *source) endLocked(cause sandbox.Cause) {
	if s.ended {
		return
	}
	s.ended = true
	for c := range s.children {
		c.die(cause)
	}
	close(s.done)
}

func (s *source) Close() error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.closed = true
	s.endLocked(sandbox.CauseShutdown)
	return nil
}

// living counts the source's children that are not dead.
func (s *source) living() int {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return len(s.children)
}

func (s *source) isClosed() bool {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.closed
}

func (s *source) Start(ctx context.Context, warm bool) (sandbox.Child, error) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if s.b.step != nil {
		s.b.await(ctx)
	}
	switch {
	case s.ended:
		return nil, sandbox.ErrSourceDead
	case s.b.startErr != nil:
		s.b.refused++
		return nil, s.b.startErr
	case s.b.stuck == s:
		return nil, errors.New("wait for the fork: deadline exceeded")
	}
	s.warm = append(s.warm, warm)
	c := &child{source: s, warm: warm, dead: make(chan struct{})}
	s.children[c] = struct{}{}
	if s.b.keep {
		s.b.all = append(s.b.all, c)
	}
	if s.b.stillborn {
		s.endLocked(sandbox.CauseNone)
	}
	if s.b.sickly {
		c.die(sandbox.CauseNone)
	}
	return c, nil
}

// await waits for the test's permission to go on. The mutex is held before and after.
func (b *backend) await(ctx context.Context) {
	step := b.step
	b.starting++
	b.mu.Unlock()
	select {
	case <-step:
	case <-ctx.Done():
	}
	b.mu.Lock()
	b.starting--
}

type child struct {
	source *source
	warm   bool
	dead   chan struct{}
	ended  sandbox.Ended
	err    error
	given  int // how often it was handed out
}

func (c *child) Bridge() bridge.Conn                    { return conn{of: c} }
func (c *child) Stdin() io.WriteCloser                  { return nil }
func (c *child) Stdout() io.Reader                      { return nil }
func (c *child) Stderr() io.Reader                      { return nil }
func (c *child) Arm(context.Context, sandbox.Arm) error { return nil }

// conn tells which child of the backend a caller has.
type conn struct {
	bridge.Conn
	of *child
}

// die is the end of the child. The backend's mutex is held.
func (c *child) die(cause sandbox.Cause) {
	if _, alive := c.source.children[c]; !alive {
		return
	}
	delete(c.source.children, c)
	c.ended.Cause = cause
	if c.source.ended && cause == sandbox.CauseNone {
		c.err = sandbox.ErrSourceDead
	}
	close(c.dead)
}

func (c *child) Kill(cause sandbox.Cause) {
	c.source.b.mu.Lock()
	defer c.source.b.mu.Unlock()
	c.die(cause)
}

func (c *child) Stop(ctx context.Context) (sandbox.Ended, error) {
	c.Kill(sandbox.CauseFinished)
	return c.Wait(ctx)
}

func (c *child) Wait(ctx context.Context) (sandbox.Ended, error) {
	select {
	case <-c.dead:
		return c.ended, c.err
	case <-ctx.Done():
		return sandbox.Ended{}, ctx.Err()
	}
}

// clock goes only when the test moves it.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

func newClock() *clock { return &clock{now: time.Unix(1_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := len(c.timers)
		c.timers = slices.DeleteFunc(c.timers, func(o *timer) bool { return o == t })
		return len(c.timers) < n
	}
}

// pending is how many timers are set.
func (c *clock) pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// next takes the first timer that is due by then, and moves the clock to it.
func (c *clock) next(then time.Time) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first *timer
	for _, t := range c.timers {
		if !t.at.After(then) && (first == nil || t.at.Before(first.at)) {
			first = t
		}
	}
	if first == nil {
		c.now = then
		return nil
	}
	c.timers = slices.DeleteFunc(c.timers, func(o *timer) bool { return o == first })
	if first.at.After(c.now) {
		c.now = first.at
	}
	return first
}

// fixture is a pool over a test backend, in a bubble that can tell when all is quiet.
type fixture struct {
	*testing.T
	*pool.Pool
	b     *backend
	clock *clock
}

// in runs a test in a bubble, and demands that the pool leaves nothing there: a
// goroutine that is left would fail the bubble.
func in(t *testing.T, c pool.Config, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, b: &backend{}, clock: newClock()}
		c.Clock = f.clock
		if c.Turns == nil {
			c.Turns = pool.NewTurns(4, 0)
		}
		if c.MaxParked == 0 {
			c.MaxParked = 8
		}
		f.Pool = pool.New(f.b, c)
		defer f.leaveNothing()
		test(f)
	})
}

// leaveNothing closes the pool and looks at what is left of it.
func (f *fixture) leaveNothing() {
	if err := f.Close(); err != nil {
		f.Error(err)
	}
	if n := f.b.alive(); n != 0 {
		f.Errorf("%d children are alive after Close", n)
	}
	for i, s := range f.b.sources() {
		if !s.isClosed() {
			f.Errorf("source %d is open after Close", i)
		}
	}
	if n := f.clock.pending(); n != 0 {
		f.Errorf("%d timers are set after Close", n)
	}
}

// pass lets time pass, and all that it brings about happen.
func (f *fixture) pass(d time.Duration) {
	synctest.Wait()
	then := f.clock.Now().Add(d)
	for {
		t := f.clock.next(then)
		if t == nil {
			return
		}
		t.f()
		synctest.Wait()
	}
}

// template names one of the templates of a test.
func template(name string) sandbox.Template {
	return sandbox.Template{Shape: sandbox.Shape{Programs: name}}
}

// run is a child in a caller's hands.
type run struct {
	*child
	given   sandbox.Child // as the pool gives it
	release func()
}

// end ends the child and gives it back.
func (r run) end() {
	r.Kill(sandbox.CauseFinished)
	r.release()
}

// take has a child now.
func (f *fixture) take(t sandbox.Template, who execution.Principal) run {
	f.Helper()
	c, release, err := f.Child(f.Context(), t, who)
	if err != nil {
		f.Fatal(err)
	}
	got := c.Bridge().(conn).of
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	if got.given++; got.given > 1 {
		f.Error("a child was handed out twice")
	}
	return run{got, c, release}
}

// full has the template used once and lets its parked children be made.
func (f *fixture) full(t sandbox.Template) {
	f.Helper()
	f.take(t, execution.Local).end()
	f.pass(time.Second)
}

// stand is how the pool stands with one template.
func (f *fixture) stand(t sandbox.Template) pool.TemplateStats {
	f.Helper()
	all := f.Stats().Templates
	i := slices.IndexFunc(all, func(s pool.TemplateStats) bool { return s.Programs == t.Shape.Programs })
	if i < 0 {
		return pool.TemplateStats{}
	}
	return all[i]
}
