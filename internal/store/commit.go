package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Record keeps events that belong to no transition.
func (s *SQLite) Record(ctx context.Context, events ...audit.Event) error {
	if len(events) == 0 {
		return nil
	}
	events = s.signed(events)
	err := s.commit(ctx, 0, func(ctx context.Context, t *transaction) error { return t.record(ctx, events) })
	if err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	return nil
}

// Commit implements [engine.Journal].
func (s *SQLite) Commit(ctx context.Context, id execution.ID, from, to execution.State, c execution.Change, events ...audit.Event) error {
	m, err := s.prepare(id, from, to, c)
	if err == nil {
		events = s.signed(events)
		err = s.commit(ctx, m.size, func(ctx context.Context, t *transaction) error {
			if err := m.write(ctx, t); err != nil {
				return err
			}
			return t.record(ctx, events)
		})
	}
	if err != nil {
		return fmt.Errorf("move %s from %q to %q: %w", id, from, to, err)
	}
	return nil
}

// signed puts this instance's name on events that have none.
func (s *SQLite) signed(events []audit.Event) []audit.Event {
	out := make([]audit.Event, len(events))
	for i, e := range events {
		if e.Instance == "" {
			e.Instance = s.options.Instance
		}
		out[i] = e
	}
	return out
}

// move is a transition in the form in which it is written. All that takes time is done
// before it comes to the writer.
type move struct {
	id       execution.ID
	from, to execution.State
	size     int64
	create   []any // of the operation, nil for one that is there
	request  []any // without the number
	files    []execution.File
	outcome  []any // of the operation, nil when nothing of it changes but the state
	result   []any // nil when there is none
	forget   bool
	asking   asking
}

func (s *SQLite) prepare(id execution.ID, from, to execution.State, c execution.Change) (*move, error) {
	m := &move{id: id, from: from, to: to, forget: s.options.DropCode && to == execution.StateFinished}
	var err error
	if m.asking, err = prepareAsking(c); err != nil {
		return nil, err
	}
	m.asking.forget = s.options.DropCode
	if c.Create != nil {
		if err := m.prepareCreate(c.Create, cmp.Or(c.Create.Instance, s.options.Instance)); err != nil {
			return nil, err
		}
	}
	if c.Result != nil || c.Stdout != nil || c.Stderr != nil || !c.Finished.IsZero() || m.forget {
		if err := m.prepareOutcome(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *move) prepareCreate(r *execution.Record, instance string) error {
	q := r.Request
	var variables any
	if q.Variables != nil {
		text, err := encodeJSON(q.Variables)
		if err != nil {
			return fmt.Errorf("encode the variables: %w", err)
		}
		variables = text
		m.size += int64(len(text))
	}
	m.size += int64(len(q.Code) + len(q.Stdin))
	for _, f := range q.Files {
		m.size += int64(len(f.Path) + len(f.Data))
	}
	code := execution.DigestOf([]byte(q.Language), []byte(q.Code))
	m.create = []any{
		string(r.ID), string(q.Principal), instance, string(m.to), string(q.Language), r.Gear,
		q.Client.Name, q.Client.Version, q.Client.Session, code[:], nanoseconds(r.Created), m.size,
	}
	m.request = []any{q.Code, blob(q.Stdin), variables, int64(q.Timeout), q.Gear}
	m.files = q.Files
	return nil
}

// keptResult is a result as it is kept: what a tool answered beside text is no part of the
// structured answer.
type keptResult struct {
	execution.Result

	Attachments []execution.Attachment `json:"attachments,omitempty"`
}

func (m *move) prepareOutcome(c execution.Change) error {
	var status, exit, finished, text any
	size := int64(0)
	if c.Result != nil {
		encoded, err := encodeJSON(keptResult{*c.Result, c.Result.Attachments})
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		status, exit, text = string(c.Result.Status), c.Result.ExitCode, encoded
		size += int64(len(encoded))
	}
	if !c.Finished.IsZero() {
		finished = nanoseconds(c.Finished)
	}
	m.result = []any{text}
	for _, o := range []*execution.Output{c.Stdout, c.Stderr} {
		if o == nil {
			m.result = append(m.result, nil, nil, nil)
			continue
		}
		m.result = append(m.result, blob(o.Head), blob(o.Tail), int64(o.Total))
		size += int64(o.Kept())
	}
	if c.Result == nil && c.Stdout == nil && c.Stderr == nil {
		m.result = nil
	}
	m.outcome = []any{size, status, exit, finished}
	m.size += size
	return nil
}

// write makes the transition. What can refuse it comes first, before anything is
// written.
func (m *move) write(ctx context.Context, t *transaction) error {
	if err := m.asking.refused(ctx, t, m); err != nil {
		return err
	}
	forget, err := m.forgets(ctx, t)
	if err != nil {
		return err
	}
	if err := m.enter(ctx, t, forget); err != nil {
		return err
	}
	if err := m.asking.write(ctx, t, string(m.id)); err != nil {
		return err
	}
	if m.result != nil {
		if _, err := t.result.ExecContext(ctx, append(m.result, string(m.id))...); err != nil {
			return err
		}
	}
	if !forget {
		return nil
	}
	_, err = t.forget.ExecContext(ctx, string(m.id))
	_, err2 := t.forgetFiles.ExecContext(ctx, string(m.id))
	_, err3 := t.forgetApproval.ExecContext(ctx, string(m.id)) // it quotes the code
	return errors.Join(err, err2, err3)
}

// forgets reports whether code and inputs go with this transition. What waited for a human
// was promised to be forgotten by the process that asked, and is ended by any.
func (m *move) forgets(ctx context.Context, t *transaction) (forget bool, err error) {
	if m.forget || m.to != execution.StateFinished || !m.from.Waits() {
		return m.forget, nil
	}
	err = t.forgets.QueryRowContext(ctx, string(m.id)).Scan(&forget)
	if errors.Is(err, sql.ErrNoRows) {
		return false, engine.ErrConflict
	}
	return forget, err
}

// enter writes the new state.
func (m *move) enter(ctx context.Context, t *transaction, forget bool) error {
	from := m.from
	if m.create != nil {
		if err := m.insert(ctx, t); err != nil || m.outcome == nil {
			return err
		}
		from = m.to
	}
	if m.outcome == nil {
		return changed(t.move.ExecContext(ctx, string(m.to), string(m.id), string(from)))
	}
	return changed(t.finish.ExecContext(ctx, append([]any{string(m.id), string(from), string(m.to)}, append(slices.Clone(m.outcome), forget)...)...))
}

// changed is [engine.ErrConflict] when a statement found nothing to change.
func changed(done sql.Result, err error) error {
	if err != nil {
		return err
	}
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		return errors.Join(err, engine.ErrConflict)
	}
	return nil
}

func (m *move) insert(ctx context.Context, t *transaction) error {
	if m.from != "" {
		return engine.ErrConflict
	}
	done, err := t.create.ExecContext(ctx, m.create...)
	if err := changed(done, err); err != nil {
		return err
	}
	n, err := done.LastInsertId()
	if err != nil {
		return err
	}
	if _, err := t.request.ExecContext(ctx, append([]any{n}, m.request...)...); err != nil {
		return err
	}
	for i, f := range m.files {
		if _, err := t.file.ExecContext(ctx, n, i, f.Path, blob(f.Data)); err != nil {
			return err
		}
	}
	return nil
}

// blob is never NULL: an empty input was given, and was empty.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// encodeJSON keeps characters as they are: the text is read by people too.
func encodeJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'})), nil
}
