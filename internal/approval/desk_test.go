package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

// office is a desk over records, at a time of its own.
type office struct {
	*approval.Desk

	t       *testing.T
	journal *storetest.Memory
	now     time.Time

	mu     sync.Mutex // guards what follows
	events []audit.Event
	broken error
}

func newOffice(t *testing.T) *office {
	o := &office{t: t, now: storetest.Noon}
	o.journal = storetest.NewMemory(func(_ context.Context, events ...audit.Event) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.broken == nil {
			o.events = append(o.events, events...)
		}
		return o.broken
	})
	o.Desk = approval.NewDesk(o.journal, trusting{}, func() time.Time { return o.now })
	return o
}

// trusting asks for no credential.
type trusting struct{}

func (trusting) Check(context.Context, string) error { return nil }

// asks puts a question that stands for an hour.
func (o *office) asks() (execution.ID, *execution.Approval) {
	o.t.Helper()
	return o.puts(storetest.Small("local", "print(1)"))
}

func (o *office) puts(r execution.Record) (execution.ID, *execution.Approval) {
	o.t.Helper()
	q := execution.Approval{Hash: execution.DigestOf([]byte(r.ID)), Summary: "A question.", Created: o.now, Expires: o.now.Add(time.Hour)}
	r.State, r.Result = "", execution.Result{}
	err := errors.Join(
		o.journal.Commit(o.t.Context(), r.ID, "", execution.StateSubmitted, execution.Change{Create: &r}),
		o.journal.Commit(o.t.Context(), r.ID, execution.StateSubmitted, execution.StatePending, execution.Change{Question: &q}))
	if err != nil {
		o.t.Fatal(err)
	}
	return r.ID, &q
}

func (o *office) last() audit.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.events[len(o.events)-1]
}

func (o *office) find(id execution.ID) execution.Record {
	o.t.Helper()
	r, err := o.Find(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return r
}

func TestADecisionThatIsNoneChangesNothingAndIsRecorded(t *testing.T) {
	o := newOffice(t)
	id, q := o.asks()
	for name, c := range map[string]struct {
		change func(*approval.Decision)
		want   approval.Cause
	}{
		"no verdict":        {func(d *approval.Decision) { d.Verdict = "" }, approval.Malformed},
		"expired":           {func(d *approval.Decision) { d.Verdict = execution.Expired }, approval.Malformed},
		"other letters":     {func(d *approval.Decision) { d.Verdict = "Approved" }, approval.Malformed},
		"an unknown scope":  {func(d *approval.Decision) { d.Scope = "forever" }, approval.Malformed},
		"a no for good":     {func(d *approval.Decision) { d.Verdict, d.Scope = execution.Refused, execution.Always }, approval.Malformed},
		"a long message":    {func(d *approval.Decision) { d.Message = strings.Repeat("é", approval.MaxMessage) }, approval.Malformed},
		"no hash":           {func(d *approval.Decision) { d.Hash = execution.Digest{} }, approval.Stale},
		"another hash":      {func(d *approval.Decision) { d.Hash[0] ^= 1 }, approval.Stale},
		"another operation": {func(d *approval.Decision) { d.Operation += "x" }, approval.Unknown},
		"a long operation":  {func(d *approval.Decision) { d.Operation = execution.ID(strings.Repeat("x", 1<<20)) }, approval.Unknown},
	} {
		d := approval.Decision{Operation: id, Hash: q.Hash, Verdict: execution.Approved, By: strings.Repeat("b", 1<<20)}
		c.change(&d)
		var e *approval.RefusedError
		if err := o.Decide(t.Context(), d); !errors.As(err, &e) || e.Cause != c.want {
			t.Errorf("%s: %v", name, err)
		}
		last, size := o.last(), 0
		for key, value := range last.Details {
			size += len(key) + len(value)
		}
		if last.Type != audit.Approval || last.Decision != "refused" || last.Reason == "" || last.Principal == "" || size > 3*approval.MaxMessage+500 {
			t.Errorf("%s: recorded with %d bytes of details: %s %s %q", name, size, last.Type, last.Decision, last.Reason)
		}
		if c.want == approval.Unknown && last.Details["operation"] == "" {
			t.Errorf("%s: it is not recorded what was named", name)
		}
		if r := o.find(id); r.State != execution.StatePending || r.Approval.Answer != nil {
			t.Fatalf("%s: %+v", name, r)
		}
	}
	d := approval.Decision{Operation: id, Hash: q.Hash, Verdict: execution.Refused, Scope: execution.Once, By: "a test"}
	if err := o.Decide(t.Context(), d); err != nil || o.find(id).Approval.Answer.Scope != "" {
		t.Errorf("a no: %v, %+v", err, o.find(id).Approval.Answer)
	}
}

func TestADecisionCountsUntilTheQuestionExpiresAndNotThen(t *testing.T) {
	o := newOffice(t)
	early, q := o.asks()
	late, p := o.asks()
	o.now = q.Expires.Add(-1)
	if err := o.Decide(t.Context(), approval.Decision{Operation: early, Hash: q.Hash, Verdict: execution.Approved, By: "a test"}); err != nil {
		t.Error(err)
	}
	o.now = p.Expires
	var e *approval.RefusedError
	if err := o.Decide(t.Context(), approval.Decision{Operation: late, Hash: p.Hash, Verdict: execution.Refused, By: "a test"}); !errors.As(err, &e) || e.Cause != approval.Late {
		t.Errorf("%v", err)
	}
	if open, err := o.Open(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("%+v, %v", open, err)
	}
}

func TestADecisionThatCannotBeRecordedDoesNotCount(t *testing.T) {
	o := newOffice(t)
	id, q := o.asks()
	o.broken = errors.New("the disk is full")
	d := approval.Decision{Operation: id, Hash: q.Hash, Verdict: execution.Approved, By: "a test"}
	if err := o.Decide(t.Context(), d); !errors.Is(err, o.broken) {
		t.Errorf("%v", err)
	}
	d.Hash[0] ^= 1 // a refusal that cannot be recorded is one all the same
	var e *approval.RefusedError
	if err := o.Decide(t.Context(), d); !errors.Is(err, o.broken) || !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
	o.broken = nil
	if r := o.find(id); r.State != execution.StatePending || r.Approval.Answer != nil {
		t.Errorf("%+v", r)
	}
}

func TestAYesToACallWhoseRunHasEndedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(o *office) execution.ID
		yes  bool
		want approval.Cause
	}{
		"ended":         {func(o *office) execution.ID { return o.run(true) }, true, approval.Stale},
		"never there":   {func(*office) execution.ID { return "op_gone" }, true, approval.Stale},
		"going on":      {func(o *office) execution.ID { return o.run(false) }, true, ""},
		"of no program": {func(*office) execution.ID { return "" }, true, ""},
		"ended, a no":   {func(o *office) execution.ID { return o.run(true) }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			source, err := execution.Call{Tool: "s.echo", Arguments: []byte("{}"), Run: c.run(o)}.Source()
			if err != nil {
				t.Fatal(err)
			}
			r := storetest.Small("local", source)
			r.Request.Language = execution.Tool
			id, q := o.puts(r)
			d := approval.Decision{Operation: id, Hash: q.Hash, Verdict: execution.Approved}
			if !c.yes {
				d.Verdict = execution.Refused
			}
			err = o.Decide(t.Context(), d)
			var refused *approval.RefusedError
			if errors.As(err, &refused); (c.want == "") != (err == nil) || refused != nil && refused.Cause != c.want {
				t.Errorf("%v", err)
			}
		})
	}
}

// run is an operation of a program that calls tools.
func (o *office) run(ended bool) execution.ID {
	o.t.Helper()
	r := storetest.Small("local", "s.echo()")
	result := r.Result
	r.State, r.Result = "", execution.Result{}
	err := o.journal.Commit(o.t.Context(), r.ID, "", execution.StateSubmitted, execution.Change{Create: &r})
	if ended && err == nil {
		err = o.journal.Commit(o.t.Context(), r.ID, execution.StateSubmitted, execution.StateFinished, execution.Change{Finished: o.now, Result: &result})
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return r.ID
}
