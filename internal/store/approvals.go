package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const waitingRecords = "SELECT " + recordColumns + " WHERE o.state = 'pending' OR o.state = 'approved' ORDER BY o.n"

// askedRecords are those about which a human was asked, of which the last come first.
const askedRecords = "SELECT " + recordColumns + " WHERE a.n IS NOT NULL ORDER BY a.n DESC LIMIT ?"

// Waiting implements approval.Journal.
func (s *SQLite) Waiting(ctx context.Context) ([]execution.Record, error) {
	return s.records(ctx, waitingRecords)
}

// Asked are the last operations about which a human was asked, the oldest first, without
// their files. It is for the operator.
func (s *SQLite) Asked(ctx context.Context, most int) ([]execution.Record, error) {
	all, err := s.records(ctx, askedRecords, most)
	slices.Reverse(all)
	return all, err
}

// Due implements [engine.Journal].
func (s *SQLite) Due(ctx context.Context, now time.Time) (all []engine.Due, err error) {
	rows, err := s.due.QueryContext(ctx, nanoseconds(now))
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer func() { err = errors.Join(err, explain(s.path, rows.Close())) }()
	for rows.Next() {
		var d engine.Due
		var until int64
		if err := rows.Scan(&d.ID, &d.Principal, &d.Instance, &until); err != nil {
			return nil, explain(s.path, err)
		}
		d.Until = moment(until)
		all = append(all, d)
	}
	return all, explain(s.path, rows.Err())
}

// dueOperations finds them by two small indexes, whatever else waits.
const dueOperations = `SELECT id, principal, instance, until FROM (
	SELECT n, id, principal, instance, until FROM operations WHERE state = 'approved'
	UNION ALL
	SELECT n, id, principal, instance, until FROM operations WHERE state = 'pending' AND until <= ?
) ORDER BY n`

func (s *SQLite) records(ctx context.Context, query string, args ...any) (all []execution.Record, err error) {
	rows, err := s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer func() { err = errors.Join(err, explain(s.path, rows.Close())) }()
	for rows.Next() {
		_, _, r, err := scanRecord(rows)
		if err != nil {
			return nil, explain(s.path, err)
		}
		all = append(all, r)
	}
	return all, explain(s.path, rows.Err())
}

// asking is the part of a transition that has to do with a human.
type asking struct {
	question []any // without the id, nil when none is put
	until    int64 // when that expires
	forget   bool  // code and inputs are kept until it is answered, and no longer
	answer   []any // without the id, nil when none is given
	of       []byte
	instance string
}

func prepareAsking(c execution.Change) (a asking, err error) {
	a.instance = c.Instance
	if c.Question != nil {
		q := *c.Question
		q.Answer = nil
		text, err := encodeJSON(q)
		if err != nil {
			return a, fmt.Errorf("encode the question: %w", err)
		}
		a.question, a.until = []any{q.Hash[:], text}, nanoseconds(q.Expires)
	}
	if c.Answer != nil {
		text, err := encodeJSON(c.Answer)
		if err != nil {
			return a, fmt.Errorf("encode the answer: %w", err)
		}
		a.answer, a.of = []any{text}, c.Of[:]
	}
	return a, nil
}

// refused is why the answer cannot be given: somebody else gave one, or it is one to
// another question.
func (a asking) refused(ctx context.Context, t *transaction, m *move) error {
	if a.answer == nil {
		return nil
	}
	var there int
	err := t.unanswered.QueryRowContext(ctx, string(m.id), string(m.from), a.of).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.ErrConflict
	}
	return err
}

func (a asking) write(ctx context.Context, t *transaction, id string) error {
	for _, w := range []struct {
		statement *sql.Stmt
		args      []any
		wanted    bool
	}{
		{t.question, a.question, a.question != nil},
		{t.until, []any{a.until, a.forget}, a.question != nil},
		{t.answer, a.answer, a.answer != nil},
		{t.own, []any{a.instance}, a.instance != ""},
	} {
		if !w.wanted {
			continue
		}
		if _, err := w.statement.ExecContext(ctx, append(w.args, id)...); err != nil {
			return err
		}
	}
	return nil
}

// readApproval puts question and answer together again.
func readApproval(question, answer []byte) (*execution.Approval, error) {
	if question == nil {
		return nil, nil //nolint:nilnil // most operations have none
	}
	q := new(execution.Approval)
	if err := json.Unmarshal(question, q); err != nil {
		return nil, err
	}
	if answer != nil {
		if err := json.Unmarshal(answer, &q.Answer); err != nil {
			return nil, err
		}
	}
	return q, nil
}
