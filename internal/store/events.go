package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// page is how many events are read at a time, so that no reader keeps the log from
// being worked off.
const page = 500

// Head is the last event; zero when there is none.
func (s *SQLite) Head(ctx context.Context) (audit.Anchor, error) {
	head, err := scanHead(s.reads.QueryRowContext(ctx, "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"))
	return head, explain(s.path, err)
}

func scanHead(row scanner) (audit.Anchor, error) {
	var a audit.Anchor
	var hash []byte
	err := row.Scan(&a.Seq, &hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return audit.Anchor{}, nil
	case err != nil:
		return audit.Anchor{}, err
	case len(hash) != len(a.Hash):
		return audit.Anchor{}, fmt.Errorf("%w: the hash of event %d has %d bytes", ErrForeign, a.Seq, len(hash))
	}
	a.Hash = audit.Hash(hash)
	return a, nil
}

// Events are those behind the number after, in order, up to the last that there is when
// it is reached. Whoever wants to follow begins anew behind the last one.
func (s *SQLite) Events(ctx context.Context, after int64) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		after := after // each walk begins where the first did
		previous, err := s.hashOf(ctx, after)
		for more := err == nil; more; {
			var entries []audit.Entry
			entries, err = s.entries(ctx, "SELECT seq, hash, event FROM events WHERE seq > ? ORDER BY seq LIMIT ?", after)
			for _, e := range entries {
				e.Previous = previous
				if !yield(e, nil) {
					return
				}
				previous, after = e.Hash, e.Seq
			}
			more = err == nil && len(entries) == page
		}
		if err != nil {
			yield(audit.Entry{}, explain(s.path, err))
		}
	}
}

// Latest are those before the number, the newest first; 0 begins with the last of all.
// The hashes of the entries before them are not set.
func (s *SQLite) Latest(ctx context.Context, before int64) iter.Seq2[audit.Entry, error] {
	return s.latest(ctx, before, "SELECT seq, hash, event FROM events WHERE seq < ? ORDER BY seq DESC LIMIT ?")
}

// LatestOf are those of [SQLite.Latest] that belong to an operation. One whose text
// cannot be read belongs to none. All events are looked through: an index would cost
// every commit.
func (s *SQLite) LatestOf(ctx context.Context, id execution.ID, before int64) iter.Seq2[audit.Entry, error] {
	return s.latest(ctx, before, `SELECT seq, hash, event FROM events WHERE CASE WHEN json_valid(event) THEN json_extract(event, '$.operation_id') END = ?3
		AND seq < ?1 ORDER BY seq DESC LIMIT ?2`, string(id))
}

func (s *SQLite) latest(ctx context.Context, before int64, query string, more ...any) iter.Seq2[audit.Entry, error] {
	if before == 0 {
		before = 1<<63 - 1
	}
	return func(yield func(audit.Entry, error) bool) {
		before := before
		for {
			entries, err := s.entries(ctx, query, before, more...)
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				before = e.Seq
			}
			if err != nil {
				yield(audit.Entry{}, explain(s.path, err))
				return
			}
			if len(entries) < page {
				return
			}
		}
	}
}

// hashOf is the hash of an event that others follow; zero before the first.
func (s *SQLite) hashOf(ctx context.Context, seq int64) (h audit.Hash, err error) {
	var hash []byte
	err = s.reads.QueryRowContext(ctx, "SELECT hash FROM events WHERE seq = ?", seq).Scan(&hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return audit.Hash{}, nil
	case err == nil && len(hash) == len(h):
		h = audit.Hash(hash)
	}
	return h, err
}

func (s *SQLite) entries(ctx context.Context, query string, at int64, more ...any) (entries []audit.Entry, err error) {
	rows, err := s.reads.QueryContext(ctx, query, append([]any{at, page}, more...)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e audit.Entry
		var hash []byte
		if err := rows.Scan(&e.Seq, &hash, &e.Text); err != nil {
			return entries, err
		}
		copy(e.Hash[:], hash) // of another length it cannot match
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Verify checks the whole chain, and that it goes through the anchors. Errors are those
// of [audit.Verify].
func (s *SQLite) Verify(ctx context.Context, anchors ...audit.Anchor) (audit.Report, error) {
	return audit.Verify(s.Events(ctx, 0), audit.Anchor{}, anchors...)
}
