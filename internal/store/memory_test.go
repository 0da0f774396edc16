package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

// sink collects events and fails on demand.
type sink struct {
	mu     sync.Mutex
	events []audit.Event
	err    error
}

func (s *sink) take(_ context.Context, events ...audit.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.events = append(s.events, events...)
	return nil
}

func record(p execution.Principal, code string) execution.Record {
	return execution.Record{ID: execution.NewID(), Request: execution.Request{Principal: p, Code: code}}
}

func create(t *testing.T, m *store.Memory, r execution.Record) {
	t.Helper()
	err := m.Commit(t.Context(), r.ID, "", execution.StateSubmitted, execution.Change{Create: &r}, audit.Event{Type: audit.Requested})
	if err != nil {
		t.Fatal(err)
	}
}

func TestATransitionFromAnotherStateChangesNothing(t *testing.T) {
	s := &sink{}
	m := store.NewMemory(s.take)
	r := record("a", "1")
	create(t, m, r)
	err := m.Commit(t.Context(), r.ID, execution.StateRunning, execution.StateFinished,
		execution.Change{Result: &execution.Result{Status: execution.StatusOK}}, audit.Event{Type: audit.Finished})
	if !errors.Is(err, engine.ErrConflict) {
		t.Fatalf("got %v", err)
	}
	got, err := m.Load(t.Context(), "a", r.ID)
	if err != nil || got.State != execution.StateSubmitted || got.Result.Status != "" || len(s.events) != 1 {
		t.Fatalf("%+v, %v, %d events", got, err, len(s.events))
	}
}

func TestAnEventThatIsNotKeptLeavesTheRecordAlone(t *testing.T) {
	s := &sink{}
	m := store.NewMemory(s.take)
	r := record("a", "1")
	create(t, m, r)
	s.err = errors.New("disk full")
	err := m.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StateRunning, execution.Change{}, audit.Event{})
	if !errors.Is(err, s.err) {
		t.Fatalf("got %v", err)
	}
	if got, _ := m.Load(t.Context(), "a", r.ID); got.State != execution.StateSubmitted {
		t.Fatalf("moved to %s although the event was lost", got.State)
	}
}

func TestAnotherPrincipalsOperationDoesNotExist(t *testing.T) {
	m := store.NewMemory((&sink{}).take)
	r := record("a", "1")
	create(t, m, r)
	_, foreign := m.Load(t.Context(), "b", r.ID)
	_, unknown := m.Load(t.Context(), "b", execution.NewID())
	if !errors.Is(foreign, engine.ErrNotFound) || foreign.Error() != unknown.Error() {
		t.Fatalf("foreign: %v, unknown: %v", foreign, unknown)
	}
}

func TestOfManyCommitsOfOneTransitionOneWins(t *testing.T) {
	m := store.NewMemory((&sink{}).take)
	r := record("a", "1")
	create(t, m, r)
	var wg sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	for range 32 {
		wg.Go(func() {
			err := m.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StateRunning, execution.Change{})
			if err == nil {
				mu.Lock()
				wins++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if wins != 1 {
		t.Fatalf("%d winners", wins)
	}
}

func TestTheOldestFinishedOperationsMakeRoom(t *testing.T) {
	m := store.NewMemory((&sink{}).take)
	var ids []execution.ID
	big := make([]byte, 1<<20)
	for i := range 100 {
		r := record("a", fmt.Sprint(i))
		ids = append(ids, r.ID)
		create(t, m, r)
		err := m.Commit(t.Context(), r.ID, execution.StateSubmitted, execution.StateFinished,
			execution.Change{Stdout: &execution.Output{Head: big, Total: execution.Bytes(len(big))}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Load(t.Context(), "a", ids[0]); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("100 MiB of output are kept: %v", err)
	}
	if _, err := m.Load(t.Context(), "a", ids[99]); err != nil {
		t.Errorf("the newest is gone: %v", err)
	}
}
