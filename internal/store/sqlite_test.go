package store_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

func open(t testing.TB, o store.Options) *store.SQLite {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Version == "" {
		o.Version = "v1.0.0"
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// events are all that a store has kept, after a check of the chain.
func events(t testing.TB, s *store.SQLite) []audit.Event {
	t.Helper()
	if _, err := s.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all []audit.Event
	for entry, err := range s.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := entry.Event()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestSQLiteKeepsTheContract(t *testing.T) {
	for _, d := range []store.Durability{store.Process, store.Power} {
		t.Run(string(d), func(t *testing.T) {
			storetest.Run(t, func(t testing.TB) storetest.Subject {
				s := open(t, store.Options{Durability: d, Instance: "4711-X"})
				return storetest.Subject{
					Store: s, Events: func() []audit.Event { return events(t, s) },
					Break: func() func() { return tamper(t, s.Path(), refuseEvents, allowEvents) },
				}
			})
		})
	}
}

// sink collects events and fails on demand.
type sink struct {
	mu     sync.Mutex
	events []audit.Event
	err    error
}

func (s *sink) take(_ context.Context, events ...audit.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.events = append(s.events, events...)
	}
	return s.err
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func TestMemoryKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Subject {
		s := &sink{}
		return storetest.Subject{
			Store: storetest.NewMemory(s.take),
			Events: func() []audit.Event {
				s.mu.Lock()
				defer s.mu.Unlock()
				return slices.Clone(s.events)
			},
			Break: func() func() {
				s.fail(errors.New("disk full"))
				return func() { s.fail(nil) }
			},
		}
	})
}

// create, finish: the first and the last commit of an operation.
func create(s *store.SQLite, r execution.Record) error {
	begun := execution.Record{ID: r.ID, Request: r.Request, Gear: r.Gear, Created: r.Created}
	return s.Commit(ctx(), r.ID, "", execution.StateSubmitted, execution.Change{Create: &begun}, storetest.Event(r, audit.Requested))
}

func finish(s *store.SQLite, r execution.Record) error {
	change := execution.Change{Finished: r.Finished, Result: &r.Result, Stdout: &r.Stdout, Stderr: &r.Stderr}
	return s.Commit(ctx(), r.ID, execution.StateSubmitted, execution.StateFinished, change, storetest.Event(r, audit.Finished))
}

func begin(t testing.TB, s *store.SQLite, r execution.Record) {
	t.Helper()
	must(t, create(s, r))
}

func end(t testing.TB, s *store.SQLite, r execution.Record) {
	t.Helper()
	must(t, finish(s, r))
}

// kept is a finished operation.
func kept(t testing.TB, s *store.SQLite, r execution.Record) execution.Record {
	t.Helper()
	begin(t, s, r)
	end(t, s, r)
	return r
}
