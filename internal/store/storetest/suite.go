// Package storetest is the suite that every store passes: the contract of
// [engine.Journal], whatever keeps the records; and [Memory], a store for the tests of
// others.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Store is what the suite tests.
type Store interface {
	engine.Journal
	Record(context.Context, ...audit.Event) error
	Waiting(context.Context) ([]execution.Record, error)
}

// Subject is one fresh store.
type Subject struct {
	Store Store
	// Events are those that were kept until now, in order.
	Events func() []audit.Event
	// Break makes the next commits fail until the function that it returns is called.
	Break func() (mend func())
}

// Noon is the time of everything in the suite.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// Run runs the suite, each test on a subject of its own.
func Run(t *testing.T, open func(testing.TB) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"ARecordComesBackAsItWas":                       comesBack,
		"AnEmptyRequestComesBackAsItWas":                emptyComesBack,
		"WhatAChangeLeavesOutStaysAsItIs":               partial,
		"ATransitionFromAnotherStateChangesNothing":     conflict,
		"AnOperationIsCreatedOnce":                      createdOnce,
		"AnUnknownOperationDoesNotMove":                 unknown,
		"WhatIsNotKeptLeavesTheRecordAlone":             broken,
		"AnotherPrincipalsOperationDoesNotExist":        foreign,
		"OfManyCommitsOfOneTransitionOneWins":           oneWins,
		"AnAnswerIsGivenOnceAndToItsOwnQuestion":        answered,
		"WhatWaitsIsListedWhoeversItIs":                 waiting,
		"NoMoreOfAPrincipalsThanMayWaitForAHuman":       crowded,
		"TheStateIsThatOfTheRecord":                     stands,
		"EventsKeepTheOrderOfTheirCommits":              order,
		"EventsOfNoTransitionAreKept":                   recorded,
		"ManyOperationsAtOnceNeitherLoseNorMixAnything": hammer,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Full is a record with something in every field that a store has to keep. It is
// finished.
func Full() execution.Record {
	r := execution.Record{
		ID: execution.NewID(), Instance: "4711-X", Gear: "restricted", State: execution.StateFinished, Created: Noon, Finished: Noon.Add(time.Second),
		Request: execution.Request{
			Principal: "token:ci", Client: execution.Client{Name: "an \x00 editor", Version: "1.2", Session: "s-1"},
			Code: "print('ä\U0001F600')\n", Language: execution.Bash, Timeout: 1500 * time.Millisecond, Stdin: []byte{0, 0xff, 'x'},
			Variables: map[string]json.RawMessage{"a": json.RawMessage(`{"b":[1,"<&>"]}`), "c": json.RawMessage(`null`)},
			Files:     []execution.File{{Path: "b/ü.bin", Data: []byte{0, 1, 0xfe}}, {Path: "a.txt", Data: []byte("text")}}, Gear: "read_only",
		},
		Stdout: execution.Output{Head: []byte("head\xff"), Tail: []byte("\x00tail"), Total: 1 << 40},
		Stderr: execution.Output{Head: []byte("e1"), Tail: []byte("e2"), Total: 77},
	}
	fill(reflect.ValueOf(&r.Result).Elem())
	r.Approval = &execution.Approval{
		Hash: execution.DigestOf([]byte("asked")), Summary: "A question.", Created: Noon, Expires: Noon.Add(time.Hour), Rules: execution.DigestOf([]byte("rules")), Again: execution.AgainRules,
		Asked:  []execution.Asked{{Kind: "run", Target: "git", Line: 3, Column: 9, Source: "git()\u2028", Reason: "a rule asks", Allow: "run(git)"}},
		Answer: &execution.Answer{Verdict: execution.Approved, Scope: execution.Always, Message: "go on", By: "a test", At: Noon.Add(time.Minute)},
	}
	r.Result.OperationID, r.Result.Value = r.ID, json.RawMessage(`{"k":"<é>"}`)
	return r
}

// fill gives every field a value, so that one which a later version adds is kept too or
// fails the suite.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if kept(v.Type().Field(i)) {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.String:
		v.SetString("text of a " + v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.0625)
	case reflect.Int, reflect.Int64:
		v.SetInt(42)
	case reflect.Uint8:
		v.SetUint('1')
	default:
		panic("the suite cannot fill a " + v.Type().String())
	}
}

// kept is false of what an answer says of a question that stands: it is not stored.
func kept(f reflect.StructField) bool { return f.Tag.Get("json") != "-" || f.Name == "Attachments" }

// nonZero fails when a field says nothing, so that the record that is compared is full.
func nonZero(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if v.IsZero() {
		t.Fatalf("the suite leaves %s out", path)
	}
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
		for i := range v.NumField() {
			if f := v.Type().Field(i); kept(f) {
				nonZero(t, path+"."+f.Name, v.Field(i))
			}
		}
	}
}

// walk takes a record through its states as the engine does.
func walk(t *testing.T, s Store, r execution.Record) {
	t.Helper()
	create(t, s, r)
	from := execution.StateSubmitted
	if r.Approval != nil {
		q := ask(t, s, r, from)
		must(t, s.Commit(t.Context(), r.ID, execution.StatePending, execution.StateApproved, execution.Change{Answer: r.Approval.Answer, Of: q.Hash}))
		must(t, s.Commit(t.Context(), r.ID, execution.StateApproved, execution.StateResumed, execution.Change{Instance: r.Instance}))
		from = execution.StateResumed
	}
	must(t, s.Commit(t.Context(), r.ID, from, execution.StateRunning, execution.Change{}, Event(r, audit.Started)))
	must(t, finish(t, s, r, execution.StateRunning))
}

func create(t *testing.T, s Store, r execution.Record) {
	t.Helper()
	begun := execution.Record{ID: r.ID, Instance: r.Instance, Request: r.Request, Gear: r.Gear, Created: r.Created}
	must(t, s.Commit(t.Context(), r.ID, "", execution.StateSubmitted, execution.Change{Create: &begun}, Event(r, audit.Requested)))
}

func finish(t *testing.T, s Store, r execution.Record, from execution.State) error {
	t.Helper()
	return s.Commit(t.Context(), r.ID, from, execution.StateFinished,
		execution.Change{Finished: r.Finished, Result: &r.Result, Stdout: &r.Stdout, Stderr: &r.Stderr}, Event(r, audit.Finished))
}

// Event is an event of an operation.
func Event(r execution.Record, typ audit.Type) audit.Event {
	return audit.Event{Time: Noon, Type: typ, Operation: r.ID, Principal: r.Request.Principal, Instance: "suite"}
}

// Small is a record as most are.
func Small(p execution.Principal, code string) execution.Record {
	r := execution.Record{
		ID: execution.NewID(), Gear: "user_confirmed", Created: Noon, Finished: Noon,
		Request: execution.Request{Principal: p, Code: code, Language: execution.Python},
		Stdout:  execution.Output{Head: []byte(code + "\n"), Total: execution.Bytes(len(code) + 1)},
	}
	r.Result = execution.Result{Status: execution.StatusOK, OperationID: r.ID, DurationMS: 1.5, Gear: r.Gear}
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s Store, r execution.Record) execution.Record {
	t.Helper()
	got, err := s.Load(t.Context(), r.Request.Principal, r.ID)
	must(t, err)
	return got
}

func comesBack(t *testing.T, s Subject) {
	r := Full()
	nonZero(t, "Record", reflect.ValueOf(r))
	walk(t, s.Store, r)
	if got := load(t, s.Store, r); !reflect.DeepEqual(got, r) {
		t.Errorf("got  %+v\nwant %+v", got, r)
	}
}

func emptyComesBack(t *testing.T, s Subject) {
	r := execution.Record{ID: execution.NewID(), Request: execution.Request{Principal: "a", Files: []execution.File{{Path: "empty"}}}, Created: Noon}
	create(t, s.Store, r)
	got := load(t, s.Store, r)
	if got.State != execution.StateSubmitted || !got.Finished.IsZero() || !got.Created.Equal(Noon) || got.Result.Status != "" ||
		len(got.Request.Stdin) != 0 || len(got.Request.Variables) != 0 || len(got.Request.Files) != 1 || len(got.Request.Files[0].Data) != 0 || got.Stdout.Kept() != 0 {
		t.Errorf("%+v", got)
	}
}

func partial(t *testing.T, s Subject) {
	r := Small("a", "1")
	create(t, s.Store, r)
	must(t, s.Store.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StateRunning, execution.Change{Stdout: &r.Stdout}))
	must(t, s.Store.Commit(t.Context(), r.ID, execution.StateRunning, execution.StateFinished, execution.Change{Finished: r.Finished, Result: &r.Result}))
	got := load(t, s.Store, r)
	if string(got.Stdout.Head) != "1\n" || got.Stdout.Total != 2 || !reflect.DeepEqual(got.Result, r.Result) || !got.Finished.Equal(r.Finished) || got.Request.Code != "1" {
		t.Errorf("%+v", got)
	}
}

func conflict(t *testing.T, s Subject) {
	r := Small("a", "1")
	create(t, s.Store, r)
	if err := finish(t, s.Store, r, execution.StateRunning); !errors.Is(err, engine.ErrConflict) {
		t.Fatalf("got %v", err)
	}
	got := load(t, s.Store, r)
	if got.State != execution.StateSubmitted || got.Result.Status != "" || got.Stdout.Kept() != 0 || len(s.Events()) != 1 {
		t.Fatalf("%+v, %d events", got, len(s.Events()))
	}
}

func createdOnce(t *testing.T, s Subject) {
	r := Small("a", "1")
	create(t, s.Store, r)
	other := r
	other.Request.Code, other.Request.Principal = "2", "b"
	for _, from := range []execution.State{"", execution.StateSubmitted} {
		err := s.Store.Commit(t.Context(), r.ID, from, execution.StateSubmitted, execution.Change{Create: &other}, Event(r, audit.Requested))
		if !errors.Is(err, engine.ErrConflict) {
			t.Fatalf("from %q: %v", from, err)
		}
	}
	if got := load(t, s.Store, r); got.Request.Code != "1" || len(s.Events()) != 1 {
		t.Fatalf("%+v", got)
	}
}

func unknown(t *testing.T, s Subject) {
	err := s.Store.Commit(t.Context(), execution.NewID(), execution.StateSubmitted, execution.StateRunning, execution.Change{}, audit.Event{Time: Noon, Type: audit.Started})
	if !errors.Is(err, engine.ErrConflict) || len(s.Events()) != 0 {
		t.Fatalf("%v, %d events", err, len(s.Events()))
	}
}

func broken(t *testing.T, s Subject) {
	r := Small("a", "1")
	create(t, s.Store, r)
	mend := s.Break()
	if err := finish(t, s.Store, r, execution.StateSubmitted); err == nil {
		t.Fatal("a broken store kept something")
	}
	if err := s.Store.Record(t.Context(), Event(r, audit.Decided)); err == nil {
		t.Fatal("a broken store kept an event")
	}
	mend()
	if got := load(t, s.Store, r); got.State != execution.StateSubmitted || len(s.Events()) != 1 {
		t.Fatalf("moved to %s, with %d events", got.State, len(s.Events()))
	}
	must(t, finish(t, s.Store, r, execution.StateSubmitted))
}

func foreign(t *testing.T, s Subject) {
	r := Small("a", "1")
	walk(t, s.Store, r)
	_, foreign := s.Store.Load(t.Context(), "b", r.ID)
	_, unknown := s.Store.Load(t.Context(), "b", execution.NewID())
	if !errors.Is(foreign, engine.ErrNotFound) || !errors.Is(unknown, engine.ErrNotFound) || foreign.Error() != unknown.Error() {
		t.Fatalf("foreign: %v, unknown: %v", foreign, unknown)
	}
}

func oneWins(t *testing.T, s Subject) {
	r := Small("a", "1")
	create(t, s.Store, r)
	var wins, conflicts atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			err := s.Store.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StateRunning, execution.Change{}, Event(r, audit.Started))
			switch {
			case err == nil:
				wins.Add(1)
			case errors.Is(err, engine.ErrConflict):
				conflicts.Add(1)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 || conflicts.Load() != 31 || len(s.Events()) != 2 {
		t.Fatalf("%d winners, %d conflicts, %d events", wins.Load(), conflicts.Load(), len(s.Events()))
	}
}

func order(t *testing.T, s Subject) {
	r := Full()
	walk(t, s.Store, r)
	var got []audit.Type
	for _, e := range s.Events() {
		got = append(got, e.Type)
		if e.Operation != r.ID || !e.Time.Equal(Noon) || e.Instance != "suite" {
			t.Errorf("%+v", e)
		}
	}
	if !reflect.DeepEqual(got, []audit.Type{audit.Requested, audit.Approval, audit.Started, audit.Finished}) {
		t.Errorf("%v", got)
	}
}

func recorded(t *testing.T, s Subject) {
	must(t, s.Store.Record(t.Context()))
	must(t, s.Store.Record(t.Context(), audit.Event{Time: Noon, Type: audit.Decided}, audit.Event{Time: Noon, Type: audit.Login}))
	if got := s.Events(); len(got) != 2 || got[0].Type != audit.Decided || got[1].Type != audit.Login {
		t.Errorf("%+v", got)
	}
}

func hammer(t *testing.T, s Subject) {
	const workers, each = 16, 12
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				p := execution.Principal(fmt.Sprint("p", w%3))
				r := Small(p, strings.Repeat(fmt.Sprintf("%d/%d ", w, i), 100*(i+1)))
				walk(t, s.Store, r)
				got, err := s.Store.Load(t.Context(), p, r.ID)
				if err != nil || got.Request.Code != r.Request.Code || string(got.Stdout.Head) != string(r.Stdout.Head) || got.State != execution.StateFinished {
					t.Errorf("%v: %d bytes of code, state %q", err, len(got.Request.Code), got.State)
					return
				}
				if err := finish(t, s.Store, r, execution.StateRunning); !errors.Is(err, engine.ErrConflict) {
					t.Errorf("finished twice: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(s.Events()); n != workers*each*3 {
		t.Errorf("%d events", n)
	}
}

func ask(t *testing.T, s Store, r execution.Record, from execution.State) *execution.Approval {
	t.Helper()
	q := *r.Approval
	q.Answer = nil
	must(t, s.Commit(t.Context(), r.ID, from, execution.StatePending, execution.Change{Question: &q}, Event(r, audit.Approval)))
	return &q
}

func crowded(t *testing.T, s Subject) {
	put := func(p execution.Principal, most int) (execution.Record, error) {
		r := Small(p, "1")
		create(t, s.Store, r)
		q := execution.Approval{Hash: execution.DigestOf([]byte(r.ID)), Created: Noon, Expires: Noon.Add(time.Hour)}
		return r, s.Store.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StatePending,
			execution.Change{Question: &q, MaxPending: most}, Event(r, audit.Approval))
	}
	first, err := put("a", 2)
	must(t, err)
	_, err = put("a", 2)
	must(t, err)
	events := len(s.Events())
	r, err := put("a", 2)
	if got := load(t, s.Store, r); !errors.Is(err, engine.ErrManyPending) || errors.Is(err, engine.ErrConflict) ||
		got.State != execution.StateSubmitted || got.Approval != nil || len(s.Events()) != events+1 {
		t.Fatalf("%v, and it is %+v after %d events", err, got, len(s.Events()))
	}
	for _, other := range []struct {
		p    execution.Principal
		most int
	}{{"b", 1}, {"a", 3}, {"a", 0}} {
		if _, err := put(other.p, other.most); err != nil {
			t.Fatalf("%+v: %v", other, err)
		}
	}
	must(t, finish(t, s.Store, first, execution.StatePending))
	_, err = put("a", 4)
	must(t, err)
}

func stands(t *testing.T, s Subject) {
	r := Small("a", "1")
	create(t, s.Store, r)
	for _, to := range []execution.State{execution.StateRunning, execution.StateFinished} {
		at := load(t, s.Store, r).State
		if state, err := s.Store.State(t.Context(), "a", r.ID); err != nil || state != at {
			t.Fatalf("%q, %v, and the record says %s", state, err, at)
		}
		must(t, s.Store.Commit(t.Context(), r.ID, at, to, execution.Change{}))
	}
	for p, id := range map[execution.Principal]execution.ID{"b": r.ID, "a": execution.NewID()} {
		if _, err := s.Store.State(t.Context(), p, id); !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("%s: %v", p, err)
		}
	}
}

func answered(t *testing.T, s Subject) {
	r := Full()
	create(t, s.Store, r)
	q := ask(t, s.Store, r, execution.StateSubmitted)
	if got := load(t, s.Store, r); got.State != execution.StatePending || !reflect.DeepEqual(got.Approval, q) {
		t.Fatalf("%+v", got.Approval)
	}
	answer := func(of execution.Digest, from execution.State) error {
		return s.Store.Commit(t.Context(), r.ID, from, execution.StateApproved, execution.Change{Answer: r.Approval.Answer, Of: of}, Event(r, audit.Approval))
	}
	before := len(s.Events())
	for name, err := range map[string]error{
		"to another question":    answer(execution.DigestOf([]byte("something else")), execution.StatePending),
		"to none":                answer(execution.Digest{}, execution.StatePending),
		"in another state":       answer(q.Hash, execution.StateSubmitted),
		"to an unknown question": s.Store.Commit(t.Context(), execution.NewID(), execution.StatePending, execution.StateApproved, execution.Change{Answer: r.Approval.Answer, Of: q.Hash}),
	} {
		if !errors.Is(err, engine.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := load(t, s.Store, r); got.State != execution.StatePending || got.Approval.Answer != nil || len(s.Events()) != before {
		t.Fatalf("%+v", got)
	}
	var won atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			switch err := answer(q.Hash, execution.StatePending); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, engine.ErrConflict):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := load(t, s.Store, r); won.Load() != 1 || got.State != execution.StateApproved || !reflect.DeepEqual(got.Approval, r.Approval) {
		t.Errorf("%d won: %+v", won.Load(), got.Approval)
	}
	// It is taken up by another process, and put anew.
	must(t, s.Store.Commit(t.Context(), r.ID, execution.StateApproved, execution.StateResumed, execution.Change{Instance: "another"}))
	if got := load(t, s.Store, r); got.Instance != "another" || got.Approval.Answer == nil {
		t.Errorf("%+v", got)
	}
	ask(t, s.Store, r, execution.StateResumed)
	if got := load(t, s.Store, r); got.State != execution.StatePending || got.Approval.Answer != nil {
		t.Errorf("%+v", got)
	}
}

func waiting(t *testing.T, s Subject) {
	var want []execution.ID
	for i, p := range []execution.Principal{"a", "b", "a", "c", "d"} {
		r := Full()
		r.Request.Principal, r.Created = p, Noon.Add(time.Duration(i)*time.Second)
		create(t, s.Store, r)
		if i == 2 {
			continue // it waits for nobody
		}
		q := ask(t, s.Store, r, execution.StateSubmitted)
		if i == 3 {
			must(t, s.Store.Commit(t.Context(), r.ID, execution.StatePending, execution.StateApproved, execution.Change{Answer: r.Approval.Answer, Of: q.Hash}))
		}
		if i == 4 {
			must(t, s.Store.Commit(t.Context(), r.ID, execution.StatePending, execution.StateStale, execution.Change{}))
		}
		want = append(want, r.ID)
	}
	all, err := s.Store.Waiting(t.Context())
	must(t, err)
	var got []execution.ID
	for _, r := range all {
		got = append(got, r.ID)
		if r.Approval == nil || r.Request.Code == "" {
			t.Errorf("%+v", r)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, at := range []struct {
		name string
		now  time.Time
		want []execution.ID
	}{
		{"what was approved, or is to be decided anew", Noon, want[2:]},
		{"what is about to expire", Noon.Add(time.Hour - 1), want[2:]},
		{"what has expired", Noon.Add(time.Hour), want},
	} {
		due, err := s.Store.Due(t.Context(), at.now)
		must(t, err)
		got = nil
		for _, d := range due {
			got = append(got, d.ID)
			if d.Principal == "" || d.Instance != Full().Instance || !d.Until.Equal(Noon.Add(time.Hour)) {
				t.Errorf("%s: %+v", at.name, d)
			}
		}
		if !slices.Equal(got, at.want) {
			t.Errorf("%s: got %v, want %v", at.name, got, at.want)
		}
	}
}
