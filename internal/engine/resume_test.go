//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// disturbed is a journal in which something else happens just before a transition to a
// state, once.
type disturbed struct {
	engine.Journal
	to     execution.State
	before func()
	once   sync.Once
}

func (d *disturbed) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	if to == d.to {
		d.once.Do(d.before)
	}
	return d.Journal.Commit(ctx, id, from, to, c, events...)
}

// placed is places that something is changed of.
type placed struct {
	engine.Places
	place func(context.Context, engine.Place) (engine.Place, error)
}

func (p placed) Place(ctx context.Context, who execution.Principal, g gear.Frozen, l execution.Language) (engine.Place, error) {
	place, err := p.Places.Place(ctx, who, g, l)
	if err != nil {
		return place, err
	}
	return p.place(ctx, place)
}

func (b *bench) state(id execution.ID) execution.State {
	b.t.Helper()
	r, err := b.journal.Find(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.State
}

func (b *bench) approve(id execution.ID) {
	b.t.Helper()
	if err := b.desk().Decide(b.t.Context(), yes(id, b.question(id))); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) count(t audit.Type) int {
	n := 0
	for _, other := range b.events.types() {
		if other == t {
			n++
		}
	}
	return n
}

func TestAQuestionThatCannotBeRecordedIsNotPutAndTheCallSaysSo(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	b.events.failOn(audit.Approval)
	id := b.submit(execution.Request{Code: asking})
	r := b.wait(id)
	if r.Status != execution.StatusInternalError || !strings.Contains(r.Error.Message, "no paper is left") || !strings.Contains(r.Error.Message, "nothing was run") {
		t.Errorf("%+v", r)
	}
	if open, err := b.desk().Open(t.Context()); err != nil || len(open) > 0 || b.resume() != 0 {
		t.Errorf("%+v, %v", open, err)
	}
}

func TestAServerThatStopsWhileItTakesUpLeavesItApproved(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, _ := b.pending(asking)
	b.approve(id)
	whole := b.config.Places
	for name, place := range map[string]func(context.Context, engine.Place) (engine.Place, error){
		"its context ends": func(context.Context, engine.Place) (engine.Place, error) { return engine.Place{}, context.Canceled },
		"it begins to shut": func(_ context.Context, p engine.Place) (engine.Place, error) {
			b.engine.Shut()
			return p, nil
		},
	} {
		b.config.Places = placed{whole, place}
		b.engine = b.another(t)
		if n, _ := b.engine.Resume(t.Context()); n != 0 || b.state(id) != execution.StateApproved {
			t.Fatalf("%s: it is %s", name, b.state(id))
		}
	}
	b.config.Places = whole
	b.engine = b.another(t)
	if b.resume() != 1 {
		t.Fatal("the next one does not take it up")
	}
	if r := b.wait(id); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
}

// Another process ends it while this one takes it up, and a caller waits for it here.
func TestACancellationWhileItIsTakenUpEndsIt(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, _ := b.pending(asking)
	b.approve(id)
	other, waited := b.another(t), make(chan execution.Result, 1)
	var taking *engine.Engine
	b.config.Journal = &disturbed{Journal: b.journal, to: execution.StateResumed, before: func() {
		go func() {
			r, err := taking.Cancel(t.Context(), execution.Local, id)
			if err != nil {
				t.Error(err)
			}
			waited <- r
		}()
		if r, err := other.Cancel(t.Context(), execution.Local, id); err != nil || r.Status != execution.StatusCancelled {
			t.Errorf("%+v, %v", r, err)
		}
	}}
	taking = b.another(t)
	if n, err := taking.Resume(t.Context()); n != 0 || err != nil {
		t.Errorf("it was taken up %d times, %v", n, err)
	}
	if r := <-waited; r.Status != execution.StatusCancelled || b.count(audit.Started) != 0 || b.count(audit.Finished) != 1 {
		t.Errorf("%+v after %v", r, b.events.types())
	}
}

func TestACancellationIsNotLostToAYesThatComesAtTheSameTime(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, _ := b.pending(asking)
	b.config.Journal = &disturbed{Journal: b.journal, to: execution.StateFinished, before: func() { b.approve(id) }}
	if r, err := b.another(t).Cancel(t.Context(), execution.Local, id); err != nil || r.Status != execution.StatusCancelled {
		t.Errorf("%+v, %v", r, err)
	}
	if b.resume() != 0 || b.count(audit.Started) != 0 {
		t.Error("it runs after it was cancelled")
	}
}

// The caller leaves while the question is being recorded.
func TestACancellationIsNotLostToAQuestionThatIsJustPut(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	var id atomic.Pointer[execution.ID]
	called, cancelled := make(chan struct{}), make(chan execution.Result, 1)
	var asks *engine.Engine
	b.config.Journal = &disturbed{Journal: b.journal, to: execution.StatePending, before: func() {
		<-called
		go func() {
			r, err := asks.Cancel(t.Context(), execution.Local, *id.Load())
			if err != nil {
				t.Error(err)
			}
			cancelled <- r
		}()
	}}
	asks = b.another(t)
	b.engine = asks
	submitted := b.submit(execution.Request{Code: asking})
	id.Store(&submitted)
	close(called)
	if r := <-cancelled; r.Status != execution.StatusCancelled {
		t.Errorf("%+v", r)
	}
}

func TestRecoveryNeverTouchesWhatWaits(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	b.config.Instance = "dead"
	b.engine = b.another(t)
	pending, _ := b.pending(asking)
	approved, _ := b.pending(asking)
	b.approve(approved)
	b.config.Instance = "living"
	b.engine = b.another(t)
	if n, err := b.engine.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if b.state(pending) != execution.StatePending || b.state(approved) != execution.StateApproved {
		t.Errorf("%s and %s", b.state(pending), b.state(approved))
	}
}

// ahead is a clock of another process, on which the question has expired.
type ahead struct {
	wallClock
	by time.Duration
}

func (a ahead) Now() time.Time { return a.wallClock.Now().Add(a.by) }

func TestAtTheMomentOfItsExpiryAnOperationEitherRunsOrExpires(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	b.config.Clock = ahead{by: time.Hour}
	late := b.another(t)
	ran := 0
	for range 10 {
		id, _ := b.pending(asking)
		b.approve(id)
		var both sync.WaitGroup
		for _, e := range []*engine.Engine{b.engine, late} {
			both.Go(func() {
				if _, err := e.Resume(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		switch r := b.wait(id); {
		case r.Status == execution.StatusOK:
			ran++
		case r.Status != execution.StatusDenied || !strings.Contains(r.Error.Message, "expired"):
			t.Errorf("%+v", r)
		}
	}
	if b.count(audit.Started) != ran || b.count(audit.Finished) != 10 {
		t.Errorf("%d ran, %d were started, and %d ended", ran, b.count(audit.Started), b.count(audit.Finished))
	}
}

// What another machine, or a later version, would do differently is asked anew.
func TestAnotherPlaceIsAskedAboutAnew(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	whole := b.config.Places
	for name, change := range map[string]func(*engine.Place){
		"the level":       func(p *engine.Place) { p.Isolation = execution.LevelFull },
		"the interpreter": func(p *engine.Place) { p.Interpreter[0] ^= 1 },
		"the analyser":    func(p *engine.Place) { p.Analyser += "x" },
	} {
		b.config.Places = whole
		b.engine = b.another(t)
		id, before := b.pending(asking)
		b.approve(id)
		b.config.Places = placed{whole, func(_ context.Context, p engine.Place) (engine.Place, error) {
			change(&p)
			return p, nil
		}}
		b.engine = b.another(t)
		if b.resume() != 1 {
			t.Errorf("%s: it is not taken up", name)
		}
		b.until(id, func(r execution.Result) bool { return r.Status == execution.StatusPendingApproval })
		if after := b.question(id); after.Hash == before.Hash || after.Answer != nil || b.count(audit.Started) != 0 {
			t.Errorf("%s: %+v", name, after)
		}
	}
}

// Servers in several gears share a data directory: one in another gear would only refuse
// what a human said yes to.
func TestAProcessInAnotherGearLeavesAYesToOthers(t *testing.T) {
	b := newBench(t, benchConfig{patience: time.Hour})
	id, _ := b.pending(asking)
	b.approve(id)
	mine := b.config
	b.config.Instance, b.config.Gears = "another", named("restricted")
	other := b.another(t)
	if n, err := other.Resume(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	summary := func(e *engine.Engine) string {
		t.Helper()
		r, err := e.Wait(t.Context(), execution.Local, id, 0)
		if err != nil || r.Status != execution.StatusRunning || r.ExpiresAt == "" {
			t.Errorf("%+v, %v", r, err)
		}
		return r.Summary
	}
	if got := summary(other); !strings.Contains(got, "The user said yes. Nothing has run yet") || !strings.Contains(got, "in the gear user_confirmed") {
		t.Errorf("%q", got)
	}
	b.config = mine
	b.config.Instance = "a third"
	b.engine = b.another(t)
	if got := summary(b.engine); got != "The user said yes. It waits for its turn." {
		t.Errorf("%q", got)
	}
	if b.resume() != 1 {
		t.Error("it is not taken up in its own gear")
	}
	if r := b.wait(id); r.Status != execution.StatusOK {
		t.Errorf("%+v", r)
	}
}

func TestEveryPartOfARunChangesItsSubject(t *testing.T) {
	g, err := named("user_confirmed").Freeze(execution.Local, "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := named("restricted").Freeze(execution.Local, "")
	if err != nil {
		t.Fatal(err)
	}
	type run struct {
		id    execution.ID
		r     execution.Request
		g     gear.Frozen
		p     engine.Place
		facts bridge.FactsHead
	}
	base := func() run {
		return run{"op_1", execution.Request{
			Principal: execution.Local, Language: execution.Python, Code: "1", Stdin: []byte("in"), Timeout: time.Second,
			Variables: map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage("2")},
			Files:     []execution.File{{Path: "c", Data: []byte("3")}, {Path: "d", Data: []byte("4")}},
		}, g, engine.Place{Analyser: "a", Isolation: execution.LevelFull}, bridge.FactsHead{Facts: []bridge.Fact{{Kind: "run", Target: "mount", Line: 1}}}}
	}
	seen := map[execution.Digest]string{}
	for name, change := range map[string]func(*run){
		"nothing":       func(*run) {},
		"the operation": func(x *run) { x.id = "op_2" },
		"the principal": func(x *run) { x.r.Principal = "token:a" },
		"the language":  func(x *run) { x.r.Language = execution.Bash },
		"the code":      func(x *run) { x.r.Code = "1 " },
		"the input":     func(x *run) { x.r.Stdin = nil },
		"the time":      func(x *run) { x.r.Timeout++ },
		"a variable's name": func(x *run) {
			x.r.Variables = map[string]json.RawMessage{"a": x.r.Variables["a"], "x": x.r.Variables["b"]}
		},
		"a variable's value": func(x *run) { x.r.Variables["b"] = json.RawMessage("3") },
		"one variable less":  func(x *run) { delete(x.r.Variables, "b") },
		"a variable as a file": func(x *run) {
			delete(x.r.Variables, "b")
			x.r.Files = slices.Insert(x.r.Files, 0, execution.File{Path: "b", Data: []byte("2")})
		},
		"a file's name":    func(x *run) { x.r.Files[0].Path = "x" },
		"a file's content": func(x *run) { x.r.Files[0].Data = []byte("x") },
		"bytes moved on":   func(x *run) { x.r.Files[0] = execution.File{Path: "c3", Data: nil} },
		"the files' order": func(x *run) { slices.Reverse(x.r.Files) },
		"the gear":         func(x *run) { x.g = other },
		"the languages":    func(x *run) { x.g = g.Only([]execution.Language{execution.Python}) },
		"the interpreter":  func(x *run) { x.p.Interpreter[3] = 1 },
		"the environment":  func(x *run) { x.p.Template.Environment[3] = 1 },
		"the preloaded":    func(x *run) { x.p.Template.Preload = "m" },
		"the level":        func(x *run) { x.p.Isolation = execution.LevelNoUserns },
		"the analyser":     func(x *run) { x.p.Analyser = "b" },
		"the facts":        func(x *run) { x.facts.Facts[0].Target = "umount" },
	} {
		x := base()
		change(&x)
		d := engine.SubjectOf(x.id, x.r, x.g, x.p, x.facts)
		if there, twice := seen[d]; twice {
			t.Errorf("%s has the subject of %s", name, there)
		}
		seen[d] = name
	}
}
