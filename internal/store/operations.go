package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Operation is what an operator sees of an operation in a list.
type Operation struct {
	ID        execution.ID        `json:"operation_id"`
	Principal execution.Principal `json:"principal"`
	// Instance is the process that owns it.
	Instance string             `json:"instance"`
	State    execution.State    `json:"state"`
	Status   execution.Status   `json:"status,omitempty"` // once it is finished
	ExitCode int                `json:"exit_code"`
	Language execution.Language `json:"language"`
	Gear     string             `json:"gear"`
	Client   execution.Client   `json:"client"`
	// Code is the digest of language and source, as in the audit events.
	Code     execution.Digest `json:"-"`
	Created  time.Time        `json:"created"`
	Finished time.Time        `json:"finished,omitzero"`
	// Size is what is kept of it: inputs, answer and output.
	Size execution.Bytes `json:"size_bytes"`
}

// Filter says which operations are wanted. The zero Filter wants all.
type Filter struct {
	Principal execution.Principal
	State     execution.State
	Status    execution.Status
	Since     time.Time // of their creation
	// Before wants those that were taken on before this one: the last of a page gives
	// the next.
	Before execution.ID
	// Limit is 100 when zero.
	Limit int
}

const listed = `n, id, principal, instance, state, status, exit_code, language, gear, client_name, client_version, client_session, code_sha256, created, finished, size`

// Operations lists operations of every principal, the newest first. It is for the
// operator. An unknown Before is [engine.ErrNotFound].
func (s *SQLite) Operations(ctx context.Context, f Filter) (all []Operation, err error) {
	where, args, err := s.where(ctx, f)
	if err != nil {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	rows, err := s.reads.QueryContext(ctx, "SELECT "+listed+" FROM operations"+where+" ORDER BY n DESC LIMIT ?", append(args, f.Limit)...)
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		_, o, err := scanOperation(rows)
		if err != nil {
			return nil, explain(s.path, err)
		}
		all = append(all, o)
	}
	return all, explain(s.path, rows.Err())
}

func (s *SQLite) where(ctx context.Context, f Filter) (string, []any, error) {
	var conditions []string
	var args []any
	add := func(wanted bool, condition string, arg any) {
		if wanted {
			conditions, args = append(conditions, condition), append(args, arg)
		}
	}
	add(f.Principal != "", "principal = ?", string(f.Principal))
	add(f.State != "", "state = ?", string(f.State))
	add(f.Status != "", "status = ?", string(f.Status))
	add(!f.Since.IsZero(), "created >= ?", nanoseconds(f.Since))
	if f.Before != "" {
		var n int64
		if err := s.reads.QueryRowContext(ctx, "SELECT n FROM operations WHERE id = ?1 AND (?2 = '' OR principal = ?2)", string(f.Before), string(f.Principal)).Scan(&n); err != nil {
			return "", nil, fmt.Errorf("find %s: %w", f.Before, s.missing(err))
		}
		add(true, "n < ?", n)
	}
	if conditions == nil {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args, nil
}

func scanOperation(row scanner) (n int64, o Operation, err error) {
	var created, finished, size int64
	var code []byte
	err = row.Scan(&n, &o.ID, &o.Principal, &o.Instance, &o.State, &o.Status, &o.ExitCode, &o.Language, &o.Gear,
		&o.Client.Name, &o.Client.Version, &o.Client.Session, &code, &created, &finished, &size)
	copy(o.Code[:], code)
	o.Created, o.Finished, o.Size = moment(created), moment(finished), execution.Bytes(size)
	return n, o, err
}

// Operation is one operation with its record, whoever's it is. It is for the operator.
// An unknown one is [engine.ErrNotFound].
func (s *SQLite) Operation(ctx context.Context, id execution.ID) (Operation, execution.Record, error) {
	_, o, err := scanOperation(s.reads.QueryRowContext(ctx, "SELECT "+listed+" FROM operations WHERE id = ?", string(id)))
	if err != nil {
		return Operation{}, execution.Record{}, s.missing(err)
	}
	r, err := s.Load(ctx, o.Principal, id)
	return o, r, err
}

// Delete removes a finished operation, and records the event in its place. What was
// recorded of it before stays. Errors wrap [engine.ErrNotFound] and [ErrUnfinished].
func (s *SQLite) Delete(ctx context.Context, id execution.ID, e audit.Event) error {
	events := s.signed([]audit.Event{e})
	err := s.commit(ctx, 0, func(ctx context.Context, t *transaction) error {
		var n int64
		var state execution.State
		err := t.stateOf.QueryRowContext(ctx, string(id)).Scan(&n, &state)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return engine.ErrNotFound
		case err != nil:
			return err
		case state != execution.StateFinished:
			return ErrUnfinished
		}
		if err := t.drop(ctx, n); err != nil {
			return err
		}
		return t.record(ctx, events)
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", id, err)
	}
	return nil
}

// drop removes all that is kept under a number.
func (t *transaction) drop(ctx context.Context, n int64) error {
	for _, statement := range []*sql.Stmt{t.dropFiles, t.dropResult, t.dropRequest, t.dropOperation} {
		if _, err := statement.ExecContext(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
