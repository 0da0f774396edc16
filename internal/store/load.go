package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// recordColumns are what a record is read from; [scanRecord] has their order.
const recordColumns = `o.n, o.id, o.principal, o.instance, o.state, o.language, o.gear, o.client_name, o.client_version, o.client_session, o.created, o.finished,
	q.code, q.stdin, q.variables, q.timeout, q.gear, EXISTS (SELECT 1 FROM files WHERE n = o.n),
	r.result, r.stdout_head, r.stdout_tail, r.stdout_total, r.stderr_head, r.stderr_tail, r.stderr_total,
	a.question, a.answer
	FROM operations o JOIN requests q ON q.n = o.n LEFT JOIN results r ON r.n = o.n LEFT JOIN approvals a ON a.n = o.n`

const loadRecord = "SELECT " + recordColumns + " WHERE o.id = ? AND o.principal = ?"

// Load implements [engine.Journal].
func (s *SQLite) Load(ctx context.Context, p execution.Principal, id execution.ID) (execution.Record, error) {
	ctx = detached(ctx)
	n, hasFiles, r, err := scanRecord(s.load.QueryRowContext(ctx, string(id), string(p)))
	if err == nil && hasFiles {
		r.Request.Files, err = s.files(ctx, n)
	}
	return r, s.missing(err)
}

// State implements [engine.Journal]. It reads one small row.
func (s *SQLite) State(ctx context.Context, p execution.Principal, id execution.ID) (execution.State, error) {
	var state string
	err := s.state.QueryRowContext(detached(ctx), string(id), string(p)).Scan(&state)
	return execution.State(state), s.missing(err)
}

// missing is the error of a query for one operation.
func (s *SQLite) missing(err error) error {
	if missing(err) {
		return engine.ErrNotFound
	}
	return explain(s.path, err)
}

func missing(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// scanner is a row, alone or among others.
type scanner interface{ Scan(...any) error }

func scanRecord(row scanner) (n int64, hasFiles bool, r execution.Record, err error) {
	var created, finished, timeout int64
	var variables, result, question, answer []byte
	var stdoutTotal, stderrTotal sql.NullInt64
	q := &r.Request
	err = row.Scan(&n, &r.ID, &q.Principal, &r.Instance, &r.State, &q.Language, &r.Gear, &q.Client.Name, &q.Client.Version, &q.Client.Session,
		&created, &finished, &q.Code, &q.Stdin, &variables, &timeout, &q.Gear, &hasFiles,
		&result, &r.Stdout.Head, &r.Stdout.Tail, &stdoutTotal, &r.Stderr.Head, &r.Stderr.Tail, &stderrTotal, &question, &answer)
	if err != nil {
		return 0, false, execution.Record{}, err
	}
	r.Created, r.Finished, q.Timeout = moment(created), moment(finished), time.Duration(timeout)
	r.Stdout.Total, r.Stderr.Total = execution.Bytes(stdoutTotal.Int64), execution.Bytes(stderrTotal.Int64)
	var kept keptResult
	for _, part := range []struct {
		text []byte
		into any
	}{{variables, &q.Variables}, {result, &kept}} {
		if part.text == nil {
			continue
		}
		if err := json.Unmarshal(part.text, part.into); err != nil {
			return 0, false, execution.Record{}, fmt.Errorf("read the record %s: %w", r.ID, err)
		}
	}
	r.Result, r.Result.Attachments = kept.Result, kept.Attachments
	if r.Approval, err = readApproval(question, answer); err != nil {
		return 0, false, execution.Record{}, fmt.Errorf("read what a human was asked about %s: %w", r.ID, err)
	}
	return n, hasFiles, r, nil
}

func (s *SQLite) files(ctx context.Context, n int64) (files []execution.File, err error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT path, data FROM files WHERE n = ? ORDER BY position", n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var f execution.File
		if err := rows.Scan(&f.Path, &f.Data); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, rows.Err()
}

// nanoseconds and moment are a time in the database and back; 0 is no time.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
