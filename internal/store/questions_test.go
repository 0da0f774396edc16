package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

func TestQuestionsAreListedWithoutWhatWouldBeRun(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Instance: "one"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	move := func(id execution.ID, from, to execution.State, c execution.Change) {
		t.Helper()
		if err := s.Commit(t.Context(), id, from, to, c); err != nil {
			t.Fatal(err)
		}
	}
	hash := func(id execution.ID) execution.Digest { return execution.DigestOf([]byte(id)) }
	for _, id := range []execution.ID{"op_1", "op_2", "op_3", "op_4"} {
		move(id, "", execution.StateSubmitted, execution.Change{Create: &execution.Record{
			ID: id, Gear: "g", Created: time.Unix(1, 0), Request: execution.Request{Principal: "token:a", Language: execution.Python, Code: "secret"},
		}})
		if id != "op_4" { // about which nobody is asked
			move(id, execution.StateSubmitted, execution.StatePending, execution.Change{Question: &execution.Approval{Hash: hash(id), Summary: "s"}})
		}
	}
	move("op_2", execution.StatePending, execution.StateApproved, execution.Change{Of: hash("op_2"), Answer: &execution.Answer{Verdict: execution.Approved, By: "me"}})
	ids := func(standing bool, before execution.ID, limit int) (out []execution.ID) {
		t.Helper()
		all, err := s.Questions(t.Context(), standing, before, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if r.Approval.Hash != hash(r.ID) || r.Request.Code != "" || r.Request.Principal != "token:a" || r.Instance != "one" || (r.Approval.Answer != nil) != (r.ID == "op_2") {
				t.Errorf("%+v", r)
			}
			out = append(out, r.ID)
		}
		return out
	}
	for _, row := range []struct {
		standing bool
		before   execution.ID
		limit    int
		want     []execution.ID
	}{
		{true, "", 10, []execution.ID{"op_3", "op_1"}},
		{false, "", 10, []execution.ID{"op_3", "op_2", "op_1"}},
		{false, "", 1, []execution.ID{"op_3"}},
		{false, "op_3", 1, []execution.ID{"op_2"}},
		{true, "op_3", 10, []execution.ID{"op_1"}},
		{true, "op_1", 10, nil},
	} {
		if got := ids(row.standing, row.before, row.limit); len(got) != len(row.want) || len(got) > 0 && got[0] != row.want[0] {
			t.Errorf("%+v: %v", row, got)
		}
	}
	if _, err := s.Questions(t.Context(), false, "op_9", 1); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v", err)
	}
	pending, err := s.Pending(t.Context())
	if err != nil || len(pending) != 2 || pending["op_1"] != hash("op_1") || pending["op_3"] != hash("op_3") {
		t.Errorf("%v %v", pending, err)
	}
}

// What a server with a listener asks five times a second.
func BenchmarkPendingOfAThousandQuestions(b *testing.B) {
	s, err := store.Open(b.Context(), store.Options{Dir: b.TempDir(), Instance: "one"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	code := strings.Repeat("x = 1\n", 1000)
	for range 1000 {
		id := execution.NewID()
		r := &execution.Record{ID: id, Gear: "g", Created: time.Unix(1, 0), Request: execution.Request{Principal: execution.Local, Language: execution.Python, Code: code}}
		err := errors.Join(
			s.Commit(b.Context(), id, "", execution.StateSubmitted, execution.Change{Create: r}),
			s.Commit(b.Context(), id, execution.StateSubmitted, execution.StatePending, execution.Change{Question: &execution.Approval{Hash: execution.DigestOf([]byte(id))}}),
		)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if all, err := s.Pending(b.Context()); err != nil || len(all) != 1000 {
			b.Fatal(len(all), err)
		}
	}
}
