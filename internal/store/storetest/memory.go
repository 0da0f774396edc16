package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The bounds on what is kept of finished operations. The oldest go first, so
// that a server which runs for months stays the same size.
const (
	maxFinished      = 10_000
	maxFinishedBytes = 64 << 20
)

// Sink takes the events of a commit. An error means that they were not kept, and
// the commit fails with it.
type Sink func(context.Context, ...audit.Event) error

// Memory keeps records in memory and hands events to a sink: for tests and measurements
// of what stands before a store. It is safe for concurrent use.
type Memory struct {
	sink Sink

	mu       sync.Mutex // guards what follows; held while the sink is called, so that events keep their order
	records  map[execution.ID]execution.Record
	finished []execution.ID // in the order in which they ended
	bytes    int            // held by the finished ones
}

var _ engine.Journal = (*Memory)(nil)

// NewMemory makes an empty store.
func NewMemory(sink Sink) *Memory {
	return &Memory{sink: sink, records: map[execution.ID]execution.Record{}}
}

// Record keeps events that belong to no transition.
func (m *Memory) Record(ctx context.Context, events ...audit.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sink(ctx, events...)
}

// Commit implements [engine.Journal].
func (m *Memory) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.records[id]
	if found != (c.Create == nil) || r.State != from || c.Answer != nil && (r.Approval == nil || r.Approval.Answer != nil || r.Approval.Hash != c.Of) {
		return fmt.Errorf("move %s from %q to %q: %w", id, from, to, engine.ErrConflict)
	}
	if c.MaxPending > 0 && m.pending(r.Request.Principal) >= c.MaxPending {
		return fmt.Errorf("move %s from %q to %q: %w", id, from, to, engine.ErrManyPending)
	}
	if err := m.sink(ctx, events...); err != nil {
		return fmt.Errorf("keep the events of %s: %w", id, err)
	}
	r = apply(r, c)
	r.State = to
	m.records[id] = r
	if to == execution.StateFinished {
		m.finished = append(m.finished, id)
		m.bytes += size(r)
		m.evict()
	}
	return nil
}

// pending counts what waits for a human. The mutex is held.
func (m *Memory) pending(p execution.Principal) (n int) {
	for _, r := range m.records {
		if r.State == execution.StatePending && r.Request.Principal == p {
			n++
		}
	}
	return n
}

// State implements [engine.Journal].
func (m *Memory) State(ctx context.Context, p execution.Principal, id execution.ID) (execution.State, error) {
	r, err := m.Load(ctx, p, id)
	return r.State, err
}

func apply(r execution.Record, c execution.Change) execution.Record {
	if c.Create != nil {
		r = *c.Create
	}
	if c.Result != nil {
		r.Result = *c.Result
	}
	if c.Stdout != nil {
		r.Stdout = *c.Stdout
	}
	if c.Stderr != nil {
		r.Stderr = *c.Stderr
	}
	if !c.Finished.IsZero() {
		r.Finished = c.Finished
	}
	if c.Instance != "" {
		r.Instance = c.Instance
	}
	if c.Question != nil {
		q := *c.Question
		r.Approval = &q
	}
	if c.Answer != nil {
		q := *r.Approval
		q.Answer = c.Answer
		r.Approval = &q
	}
	return r
}

// Find is the record of an operation, whoever's it is.
func (m *Memory) Find(_ context.Context, id execution.ID) (execution.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok {
		return execution.Record{}, engine.ErrNotFound
	}
	return r, nil
}

// Due implements [engine.Journal].
func (m *Memory) Due(ctx context.Context, now time.Time) ([]engine.Due, error) {
	all, err := m.Waiting(ctx)
	var due []engine.Due
	for _, r := range all {
		if r.State != execution.StatePending || !now.Before(r.Approval.Until()) {
			due = append(due, engine.Due{ID: r.ID, Principal: r.Request.Principal, Instance: r.Instance, Until: r.Approval.Until()})
		}
	}
	return due, err
}

// Waiting implements approval.Journal.
func (m *Memory) Waiting(context.Context) ([]execution.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []execution.Record
	for _, r := range m.records {
		if r.State.Waits() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b execution.Record) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// size estimates what a finished record holds on to.
func size(r execution.Record) int {
	n := len(r.Request.Code) + len(r.Request.Stdin) + len(r.Result.Stdout) + len(r.Result.Stderr) + len(r.Result.Value)
	n += int(r.Stdout.Kept() + r.Stderr.Kept())
	for _, f := range r.Request.Files {
		n += len(f.Data)
	}
	for name, v := range r.Request.Variables {
		n += len(name) + len(v)
	}
	return n
}

func (m *Memory) evict() {
	drop := 0
	for drop < len(m.finished)-1 && (len(m.finished)-drop > maxFinished || m.bytes > maxFinishedBytes) {
		id := m.finished[drop]
		m.bytes -= size(m.records[id])
		delete(m.records, id)
		drop++
	}
	m.finished = slices.Delete(m.finished, 0, drop)
}

// Interrupt implements [engine.Journal]. Records in memory die with their process.
func (m *Memory) Interrupt(context.Context, func(string) bool, func(execution.Record) (execution.Change, audit.Event)) (int, error) {
	return 0, nil
}

// Load implements [engine.Journal].
func (m *Memory) Load(_ context.Context, p execution.Principal, id execution.ID) (execution.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok || r.Request.Principal != p {
		return execution.Record{}, engine.ErrNotFound
	}
	return r, nil
}
