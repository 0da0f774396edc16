package store

import (
	"cmp"
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

const waitingRecords = "SELECT " + recordColumns + " WHERE o.state = 'pending' OR o.state = 'stale' OR o.state = 'approved' ORDER BY o.n"

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

// dueOperations finds them by three small indexes, whatever else waits.
const dueOperations = `SELECT id, principal, instance, until FROM (
	SELECT n, id, principal, instance, until FROM operations WHERE state = 'approved'
	UNION ALL
	SELECT n, id, principal, instance, until FROM operations WHERE state = 'stale'
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
	most     int   // that may stand of one principal, 0 for any number
	until    int64 // when that expires
	forget   bool  // code and inputs are kept until it is answered, and no longer
	answer   []any // without the id, nil when none is given
	of       []byte
	instance string
}

func prepareAsking(c execution.Change) (a asking, err error) {
	a.instance, a.most = c.Instance, c.MaxPending
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

// refused is why the question cannot be put: too many stand; or why the answer cannot be
// given: somebody else gave one, or it is one to another question.
func (a asking) refused(ctx context.Context, t *transaction, m *move) error {
	if a.most > 0 {
		var n int
		if err := t.pending.QueryRowContext(ctx, string(m.id), a.most).Scan(&n); err != nil || n >= a.most {
			return cmp.Or(err, engine.ErrManyPending)
		}
	}
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

const openQuestions = `SELECT o.id, a.hash FROM operations o JOIN approvals a ON a.n = o.n
	WHERE o.state IN ('pending', 'approved') AND o.state = 'pending'`

// Pending are the hashes of the questions that stand, by their operations: what may be
// asked again and again, however many others there are.
func (s *SQLite) Pending(ctx context.Context) (all map[execution.ID]execution.Digest, err error) {
	rows, err := s.reads.QueryContext(ctx, openQuestions)
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer func() { err = errors.Join(err, explain(s.path, rows.Close())) }()
	all = map[execution.ID]execution.Digest{}
	for rows.Next() {
		var id execution.ID
		var hash []byte
		if err := rows.Scan(&id, &hash); err != nil {
			return nil, explain(s.path, err)
		}
		var d execution.Digest
		copy(d[:], hash)
		all[id] = d
	}
	return all, explain(s.path, rows.Err())
}

// The newest question of each operation that had one. Either form is read in its order by
// an index: the second passes over what is no longer open.
const (
	askedQuestions = `SELECT o.id, o.principal, o.instance, o.state, o.status, o.language, o.gear, o.client_name, o.client_version, o.client_session,
			o.created, o.finished, a.question, a.answer, ''
		FROM approvals a JOIN operations o ON o.n = a.n WHERE (?1 = 0 OR a.n < ?1) ORDER BY a.n DESC LIMIT ?2`
	askedStanding = `SELECT o.id, o.principal, o.instance, o.state, o.status, o.language, o.gear, o.client_name, o.client_version, o.client_session,
			o.created, o.finished, a.question, a.answer, r.gear
		FROM operations o JOIN approvals a ON a.n = o.n JOIN requests r ON r.n = o.n
		WHERE o.state IN ('pending', 'approved') AND o.state = 'pending' AND (?1 = 0 OR o.n < ?1) ORDER BY o.n DESC LIMIT ?2`
)

// Questions are operations about which a human was asked, whoever's they are, the newest
// first: all of them, or only those whose question stands, then with the gear that the call
// named. Code, inputs and output are not in the records. It is for the operator. An unknown before is [engine.ErrNotFound].
func (s *SQLite) Questions(ctx context.Context, standing bool, before execution.ID, limit int) (all []execution.Record, err error) {
	var n int64
	if before != "" {
		if err := s.reads.QueryRowContext(ctx, "SELECT n FROM operations WHERE id = ?", string(before)).Scan(&n); err != nil {
			return nil, fmt.Errorf("find %s: %w", before, s.missing(err))
		}
	}
	query := askedQuestions
	if standing {
		query = askedStanding
	}
	rows, err := s.reads.QueryContext(ctx, query, n, limit)
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer func() { err = errors.Join(err, explain(s.path, rows.Close())) }()
	for rows.Next() {
		r, err := scanAsked(rows)
		if err != nil {
			return nil, explain(s.path, err)
		}
		all = append(all, r)
	}
	return all, explain(s.path, rows.Err())
}

func scanAsked(row scanner) (r execution.Record, err error) {
	var created, finished int64
	var question, answer []byte
	q := &r.Request
	err = row.Scan(&r.ID, &q.Principal, &r.Instance, &r.State, &r.Result.Status, &q.Language, &r.Gear, &q.Client.Name, &q.Client.Version, &q.Client.Session,
		&created, &finished, &question, &answer, &q.Gear)
	if err != nil {
		return execution.Record{}, err
	}
	r.Created, r.Finished = moment(created), moment(finished)
	if r.Approval, err = readApproval(question, answer); err != nil {
		return execution.Record{}, fmt.Errorf("read what a human was asked about %s: %w", r.ID, err)
	}
	return r, nil
}
