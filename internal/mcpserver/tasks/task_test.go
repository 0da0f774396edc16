package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// book has tasks by their names, and remembers what was done to them.
type book struct {
	has  map[string]bool
	fail error
	done []string
}

func (b *book) do(what, id string) error {
	switch {
	case b.fail != nil:
		return b.fail
	case !b.has[id]:
		return ErrUnknown
	}
	b.done = append(b.done, what+" "+id)
	return nil
}

func (b *book) Task(_ context.Context, id string) (Task, error) {
	return Task{ID: id}, b.do("get", id)
}

func (b *book) Update(_ context.Context, id string, _ map[string]json.RawMessage) error {
	return b.do("update", id)
}

func (b *book) Cancel(_ context.Context, id string) error { return b.do("cancel", id) }

func TestEachTaskIsThatOfTheBookThatHasIt(t *testing.T) {
	first, second := &book{has: map[string]bool{"a": true}}, &book{has: map[string]bool{"b": true}}
	j := Join(first, second)
	for _, id := range []string{"a", "b", "c"} {
		task, err := j.Task(t.Context(), id)
		if known := id != "c"; (err == nil) != known || known && task.ID != id || !known && !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %+v, %v", id, task, err)
		}
		if err := errors.Join(j.Update(t.Context(), id, nil), j.Cancel(t.Context(), id)); (err == nil) != (id != "c") {
			t.Errorf("%s: %v", id, err)
		}
	}
	if len(first.done) != 3 || len(second.done) != 3 {
		t.Errorf("%v %v", first.done, second.done)
	}
	first.fail = errors.New("the disk is gone")
	if _, err := j.Task(t.Context(), "b"); !errors.Is(err, first.fail) {
		t.Errorf("a book that fails may have it: %v", err)
	}
}

func TestATaskIsToldInWholeMilliseconds(t *testing.T) {
	said, err := json.Marshal(tell(Task{ID: "x", Status: Working, TTL: 1500 * time.Microsecond, Poll: 200 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"resultType":"complete","taskId":"x","status":"working","createdAt":"0001-01-01T00:00:00Z","lastUpdatedAt":"0001-01-01T00:00:00Z","ttlMs":1,"pollIntervalMs":200}`
	if string(said) != want {
		t.Errorf("%s", said)
	}
}

func TestNothingBecomesATaskThatIsNotWanted(t *testing.T) {
	if Wanted(t.Context()) {
		t.Error("wanted by nobody")
	}
	Become(t.Context(), Task{}) // goes nowhere
}
