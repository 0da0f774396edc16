package store

import (
	"context"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Retention bounds what is kept of finished operations. A zero bound does not bound.
// Audit events are always kept.
type Retention struct {
	Age   time.Duration // since they ended
	Count int
	// Size is of what is kept of them; the file is somewhat larger, and holds the audit
	// events too.
	Size execution.Bytes
}

// atOnce is how many operations are removed in one transaction: commits wait for it.
const atOnce = 50

// Retain removes the oldest finished operations until the bounds hold, and tells how
// many. Operations that have not ended count, and stay. It is called at the start and
// from time to time: it also empties the log, in which what was deleted lies until then.
func (s *SQLite) Retain(ctx context.Context, r Retention, now time.Time) (int, error) {
	victims, err := s.victims(ctx, r, now)
	if err != nil {
		return 0, fmt.Errorf("look for operations that are too old: %w", explain(s.path, err))
	}
	gone := 0
	for len(victims) > 0 {
		some := victims[:min(atOnce, len(victims))]
		victims = victims[len(some):]
		var removed int
		err := s.commit(ctx, int64(len(some))*commitBytes, func(ctx context.Context, t *transaction) (err error) {
			removed, err = t.dropFinished(ctx, some)
			return err
		})
		if err != nil {
			return gone, fmt.Errorf("remove operations that are too old: %w", err)
		}
		gone += removed
	}
	if err := s.shrink(ctx); err != nil {
		return gone, fmt.Errorf("give the room of removed operations back: %w", err)
	}
	s.writer.log.tidy()
	return gone, nil
}

// fewPages are not worth giving back to the disk: the next operations take them.
const fewPages = 256

// shrink gives free pages back, some at a time.
func (s *SQLite) shrink(ctx context.Context) error {
	for left := fewPages; left >= fewPages; {
		err := s.commit(ctx, fewPages*4096, func(ctx context.Context, t *transaction) error {
			if err := t.free.QueryRowContext(ctx).Scan(&left); err != nil || left < fewPages {
				return err
			}
			_, err := t.vacuum.ExecContext(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropFinished removes those that are there and finished. Another process may have
// removed them, and their numbers may be others' by now.
func (t *transaction) dropFinished(ctx context.Context, numbers []victim) (int, error) {
	gone := 0
	for _, v := range numbers {
		var n int64
		var state execution.State
		err := t.stateOf.QueryRowContext(ctx, string(v.id)).Scan(&n, &state)
		if missing(err) || err == nil && state != execution.StateFinished {
			continue
		}
		if err == nil {
			err = t.drop(ctx, n)
		}
		if err != nil {
			return gone, err
		}
		gone++
	}
	return gone, nil
}

type victim struct {
	id       execution.ID
	finished int64
	size     int64
}

// victims are those that have to go, the oldest first.
func (s *SQLite) victims(ctx context.Context, r Retention, now time.Time) (old []victim, err error) {
	u, err := s.Usage(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.reads.QueryContext(ctx, "SELECT id, finished, size FROM operations WHERE state = 'finished' ORDER BY finished, n")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var v victim
		if err := rows.Scan(&v.id, &v.finished, &v.size); err != nil {
			return nil, err
		}
		if !r.exceeded(u, now.Sub(moment(v.finished))) {
			return old, nil
		}
		old = append(old, v)
		u.Operations--
		u.Size -= execution.Bytes(v.size)
	}
	return old, rows.Err()
}

// exceeded reports whether the oldest operation, of this age, has to go.
func (r Retention) exceeded(u Usage, age time.Duration) bool {
	return r.Age > 0 && age > r.Age || r.Count > 0 && u.Operations > int64(r.Count) || r.Size > 0 && u.Size > r.Size
}

// Usage is how much is kept.
type Usage struct {
	Operations int64           `json:"operations"`
	Unfinished int64           `json:"unfinished"`
	Size       execution.Bytes `json:"size_bytes"` // of the operations
	Events     int64           `json:"events"`
}

// Usage counts what is kept. It reads every operation's row.
func (s *SQLite) Usage(ctx context.Context) (Usage, error) {
	var u Usage
	err := s.reads.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE state <> 'finished'), coalesce(sum(size), 0),
		(SELECT coalesce(max(seq), 0) FROM events) FROM operations`).Scan(&u.Operations, &u.Unfinished, &u.Size, &u.Events)
	return u, explain(s.path, err)
}
