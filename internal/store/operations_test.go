package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

func TestOperationsAreListedNewestFirstByPageAndFilter(t *testing.T) {
	s := open(t, store.Options{Instance: "i"})
	var ids []execution.ID
	for i := range 10 {
		r := storetest.Small(execution.Principal(fmt.Sprint("p", i%2)), "1")
		r.Created = storetest.Noon.Add(time.Duration(i) * time.Hour)
		if i == 3 {
			r.Result.Status = execution.StatusTimeout
		}
		ids = append(ids, r.ID)
		if begin(t, s, r); i != 9 {
			end(t, s, r)
		}
	}
	slices.Reverse(ids)
	var seen []execution.ID
	f := store.Filter{Limit: 3}
	for {
		page, err := s.Operations(t.Context(), f)
		must(t, err)
		for _, o := range page {
			seen = append(seen, o.ID)
		}
		if len(page) < f.Limit {
			break
		}
		f.Before = page[len(page)-1].ID
	}
	if !slices.Equal(seen, ids) {
		t.Errorf("%v", seen)
	}
	for name, c := range map[string]struct {
		f    store.Filter
		want int
	}{
		"of a principal":        {store.Filter{Principal: "p1"}, 5},
		"of a stranger":         {store.Filter{Principal: "nobody"}, 0},
		"unfinished":            {store.Filter{State: execution.StateSubmitted}, 1},
		"with a status":         {store.Filter{Status: execution.StatusTimeout}, 1},
		"of late":               {store.Filter{Since: storetest.Noon.Add(7 * time.Hour)}, 3},
		"of late, of principal": {store.Filter{Since: storetest.Noon.Add(7 * time.Hour), Principal: "p1", Status: execution.StatusOK}, 1},
	} {
		if got, err := s.Operations(t.Context(), c.f); err != nil || len(got) != c.want {
			t.Errorf("%s: %d, %v", name, len(got), err)
		}
	}
	if _, err := s.Operations(t.Context(), store.Filter{Before: "op_x"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("before an unknown one: %v", err)
	}
}

func TestAnOperationIsShownWithItsRecordAndItsState(t *testing.T) {
	s := open(t, store.Options{Instance: "4711-X"})
	r := storetest.Full()
	begin(t, s, r)
	if state, err := s.State(t.Context(), r.Request.Principal, r.ID); err != nil || state != execution.StateSubmitted {
		t.Errorf("%q, %v", state, err)
	}
	if _, err := s.State(t.Context(), "another", r.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	end(t, s, r)
	o, got, err := s.Operation(t.Context(), r.ID)
	if err != nil || got.Request.Code != r.Request.Code || o.Instance != "4711-X" || o.Status != r.Result.Status || o.Size < 100 ||
		o.Code != execution.DigestOf([]byte(r.Request.Language), []byte(r.Request.Code)) {
		t.Errorf("%+v, %v", o, err)
	}
	if _, _, err := s.Operation(t.Context(), "op_x"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestOnlyFinishedOperationsAreDeletedAndTheirEventsStay(t *testing.T) {
	s := open(t, store.Options{Instance: "cli"})
	r := storetest.Full()
	begin(t, s, r)
	deleted := audit.Event{Time: storetest.Noon, Type: audit.Config, Operation: r.ID, Reason: "deleted"}
	if err := s.Delete(t.Context(), r.ID, deleted); !errors.Is(err, store.ErrUnfinished) {
		t.Errorf("unfinished: %v", err)
	}
	end(t, s, r)
	must(t, s.Delete(t.Context(), r.ID, deleted))
	if err := s.Delete(t.Context(), r.ID, deleted); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	if _, err := s.Load(t.Context(), r.Request.Principal, r.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	all := events(t, s)
	if len(all) != 3 || all[2].Reason != "deleted" || all[2].Instance != "cli" {
		t.Errorf("%+v", all)
	}
}

func TestTheOldestFinishedOperationsGoFirst(t *testing.T) {
	for name, c := range map[string]struct {
		r    store.Retention
		left []int
	}{
		"without bounds": {store.Retention{}, []int{0, 1, 2, 3, 4, 5}},
		"by age":         {store.Retention{Age: 150 * time.Minute}, []int{0, 4, 5}},
		"by count":       {store.Retention{Count: 3}, []int{0, 4, 5}}, // the unfinished one counts
		"by size":        {store.Retention{Size: 50_000}, []int{0, 4, 5}},
		"by all":         {store.Retention{Age: time.Minute, Count: 1, Size: 1}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, store.Options{})
			var all []execution.Record
			for i := range 6 {
				r := storetest.Small("a", strings.Repeat("x", 9_000))
				r.Finished = storetest.Noon.Add(time.Duration(i) * time.Hour)
				all = append(all, r)
				if begin(t, s, r); i > 0 {
					end(t, s, r)
				}
			}
			gone, err := s.Retain(t.Context(), c.r, storetest.Noon.Add(6*time.Hour))
			must(t, err)
			var left []int
			for i, r := range all {
				if _, err := s.Load(t.Context(), "a", r.ID); err == nil {
					left = append(left, i)
				}
			}
			if !slices.Equal(left, c.left) || gone != 6-len(left) {
				t.Errorf("%v are left, %d gone", left, gone)
			}
			if n := len(events(t, s)); n != 11 {
				t.Errorf("%d events", n)
			}
		})
	}
}

func TestTheRoomOfManyRemovedOperationsIsGivenBack(t *testing.T) {
	s := open(t, store.Options{})
	for range 100 {
		kept(t, s, storetest.Small("a", strings.Repeat("x", 40_000)))
	}
	gone, err := s.Retain(t.Context(), store.Retention{Count: 1}, storetest.Noon)
	if err != nil || gone != 99 {
		t.Fatalf("%d, %v", gone, err)
	}
	must(t, s.Close())
	if st, err := os.Stat(s.Path()); err != nil || st.Size() > 2<<20 {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
}

func TestCodeThatIsNotToBeKeptIsGoneFromTheFilesOnceItHasEnded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir, DropCode: true})
	r := storetest.Full()
	const secret = "a-secret-that-is-not-kept"
	r.Request.Code, r.Request.Stdin = "print('"+secret+"')", []byte(secret)
	r.Request.Variables["k"] = []byte(`"` + secret + `"`)
	r.Request.Files[0].Data = bytes.Repeat([]byte(secret), 1000)
	begin(t, s, r)
	if got, err := s.Load(t.Context(), r.Request.Principal, r.ID); err != nil || got.Request.Code != r.Request.Code || len(got.Request.Files) != 2 {
		t.Errorf("before the end: %+v, %v", got, err)
	}
	end(t, s, r)
	o, got, err := s.Operation(t.Context(), r.ID)
	if err != nil || got.Request.Code != "" || len(got.Request.Stdin)+len(got.Request.Files)+len(got.Request.Variables) != 0 ||
		got.Result.Status != r.Result.Status || got.Request.Timeout != r.Request.Timeout {
		t.Errorf("%+v, %v", got, err)
	}
	if o.Code != execution.DigestOf([]byte(r.Request.Language), []byte(r.Request.Code)) || o.Size > 10_000 {
		t.Errorf("%+v", o)
	}
	events(t, s)
	must(t, s.Close())
	for _, e := range dirEntries(t, dir) {
		text, err := os.ReadFile(dir + "/" + e)
		if err != nil || bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s holds it, or %v", e, err)
		}
	}
}

func dirEntries(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	all, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func TestOperationsOfDeadInstancesEndAsInterruptedOnce(t *testing.T) {
	dir := t.TempDir()
	dead := open(t, store.Options{Dir: dir, Instance: "dead"})
	alive := open(t, store.Options{Dir: dir, Instance: "alive"})
	waiting, running, finished, mine := storetest.Small("a", "1"), storetest.Small("b", "2"), storetest.Small("a", "3"), storetest.Small("a", "4")
	begin(t, dead, waiting)
	begin(t, dead, running)
	must(t, dead.Commit(t.Context(), running.ID, execution.StateSubmitted, execution.StateRunning, execution.Change{}))
	kept(t, dead, finished)
	begin(t, alive, mine)
	asked := map[string]int{}
	living := func(instance string) bool { asked[instance]++; return instance == "alive" }
	for _, want := range []int{2, 0} {
		if n, err := alive.Interrupt(t.Context(), living, interrupted); n != want || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if asked["dead"] != 1 {
		t.Errorf("asked %v", asked)
	}
	for r, want := range map[*execution.Record]string{&waiting: "Nothing was run", &running: "while the program ran"} {
		got, err := alive.Load(t.Context(), r.Request.Principal, r.ID)
		must(t, err)
		if res := engine.Answer(got); got.State != execution.StateFinished || res.Status != execution.StatusInterrupted || res.ExitCode != -1 ||
			!strings.Contains(res.Stderr, want) || res.Error.Code != string(execution.CodeInterrupted) || res.OperationID != r.ID {
			t.Errorf("%+v", res)
		}
	}
	if got, err := alive.Load(t.Context(), "a", mine.ID); err != nil || got.State != execution.StateSubmitted {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := alive.Load(t.Context(), "a", finished.ID); err != nil || got.Result.Status != execution.StatusOK {
		t.Errorf("%+v, %v", got, err)
	}
	once(t, events(t, alive))
}

func TestEventsCanBeFollowedAndReadBackwards(t *testing.T) {
	s := open(t, store.Options{})
	for i := range 1203 {
		must(t, s.Record(t.Context(), audit.Event{Time: storetest.Noon, Type: audit.Decided, Reason: fmt.Sprint(i + 1)}))
	}
	var forward, backward []int64
	var last audit.Entry
	for e, err := range s.Events(t.Context(), 3) {
		must(t, err)
		if last.Seq > 0 && e.Previous != last.Hash {
			t.Fatalf("event %d names another before it", e.Seq)
		}
		forward, last = append(forward, e.Seq), e
	}
	for e, err := range s.Latest(t.Context(), 0) {
		must(t, err)
		if backward = append(backward, e.Seq); e.Seq == 4 {
			break
		}
	}
	slices.Reverse(backward)
	if len(forward) != 1200 || !slices.Equal(forward, backward) {
		t.Errorf("%d forward, %d backward", len(forward), len(backward))
	}
	kept(t, s, storetest.Small("a", "1"))
	news := 0
	for e, err := range s.Events(t.Context(), last.Seq) {
		must(t, err)
		if news++; e.Seq == last.Seq+1 && e.Previous != last.Hash {
			t.Error("the first new one names another before it")
		}
	}
	if news != 2 {
		t.Errorf("%d new events", news)
	}
}

func TestTheEventsOfAnOperationAreFoundAmongThoseOfOthers(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	var wanted execution.Record
	for i := range 3 {
		r := kept(t, s, storetest.Small("a", "1"))
		must(t, s.Record(t.Context(), audit.Event{Time: storetest.Noon, Type: audit.Login}))
		if i == 1 {
			wanted = r
		}
	}
	of := func(before int64) (seqs []int64) {
		found := s.LatestOf(t.Context(), wanted.ID, before)
		for range 2 { // the second walk finds the same
			seqs = nil
			for e, err := range found {
				must(t, err)
				seqs = append(seqs, e.Seq)
			}
		}
		return seqs
	}
	if got := of(0); !slices.Equal(got, []int64{5, 4}) {
		t.Errorf("%v", got)
	}
	if got := of(5); !slices.Equal(got, []int64{4}) {
		t.Errorf("before 5: %v", got)
	}
	change(t, s.Path(), disarm+"UPDATE events SET event = 'no JSON' WHERE seq = 4")
	if got := of(0); !slices.Equal(got, []int64{5}) {
		t.Errorf("with one that cannot be read: %v", got)
	}
}

// Whoever ends what waits for a human need not know what the process that asked was told.
func TestCodeOfAQuestionThatIsNotToBeKeptGoesWithTheAnswerOfAnyProcess(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, store.Options{Dir: dir, DropCode: true}), open(t, store.Options{Dir: dir})
	for _, to := range []execution.State{execution.StatePending, execution.StateApproved} {
		r := storetest.Full()
		r.Approval.Answer = nil
		begin(t, s, r)
		change := execution.Change{Question: r.Approval}
		must(t, s.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StatePending, change))
		if to == execution.StateApproved {
			yes := execution.Answer{Verdict: execution.Approved, By: "a test"}
			must(t, other.Commit(t.Context(), r.ID, execution.StatePending, to, execution.Change{Answer: &yes, Of: r.Approval.Hash}))
		}
		if got, err := other.Find(t.Context(), r.ID); err != nil || got.Request.Code != r.Request.Code || got.Approval == nil {
			t.Errorf("before the end: %+v, %v", got, err)
		}
		must(t, other.Commit(t.Context(), r.ID, to, execution.StateFinished, execution.Change{Finished: storetest.Noon, Result: &r.Result}))
		got, err := other.Find(t.Context(), r.ID)
		if err != nil || got.Request.Code != "" || len(got.Request.Stdin)+len(got.Request.Files)+len(got.Request.Variables) != 0 || got.Approval != nil {
			t.Errorf("after the end: %+v, %v", got, err)
		}
	}
}
