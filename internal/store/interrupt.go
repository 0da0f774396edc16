package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Interrupt finishes the operations of dead instances, each once, whoever does it, and
// tells how many this call has finished. alive is asked once for each instance that
// owns an unfinished one; a dead instance must never live again under its name. end
// says how such an operation ends, with the event for it. When several fail, the errors
// are joined, and a later call finds what is left.
func (s *SQLite) Interrupt(ctx context.Context, alive func(instance string) bool, end func(execution.Record) (execution.Change, audit.Event)) (int, error) {
	orphans, err := s.orphans(ctx, alive)
	if err != nil {
		return 0, fmt.Errorf("look for operations of dead instances: %w", explain(s.path, err))
	}
	ended := 0
	var errs []error
	for _, o := range orphans {
		done, err := s.interrupt(ctx, o, end)
		if done {
			ended++
		}
		errs = append(errs, err)
	}
	return ended, errors.Join(errs...)
}

// owned names an operation.
type owned struct {
	id        execution.ID
	principal execution.Principal
}

// orphans are the unfinished operations whose instances are dead, the oldest first.
func (s *SQLite) orphans(ctx context.Context, alive func(string) bool) (found []owned, err error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT id, principal, instance FROM operations WHERE state <> 'finished' AND state NOT IN ('pending', 'stale', 'approved') ORDER BY n")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	living := map[string]bool{}
	for rows.Next() {
		var o owned
		var instance string
		if err := rows.Scan(&o.id, &o.principal, &instance); err != nil {
			return nil, err
		}
		if _, asked := living[instance]; !asked {
			living[instance] = alive(instance)
		}
		if !living[instance] {
			found = append(found, o)
		}
	}
	return found, rows.Err()
}

// interrupt is false without an error when another process was first.
func (s *SQLite) interrupt(ctx context.Context, o owned, end func(execution.Record) (execution.Change, audit.Event)) (bool, error) {
	r, err := s.Load(ctx, o.principal, o.id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return false, nil // finished and deleted meanwhile
	case err != nil:
		return false, err
	case r.State == execution.StateFinished || r.State.Waits():
		return false, nil
	}
	change, event := end(r)
	err = s.Commit(ctx, o.id, r.State, execution.StateFinished, change, event)
	if errors.Is(err, engine.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}
