package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// SnippetPins are the pins of all snippets that were saved, by their names.
func (s *SQLite) SnippetPins(ctx context.Context) (all map[string]execution.Digest, err error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT name, pin FROM snippets")
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer func() { err = errors.Join(err, explain(s.path, rows.Close())) }()
	all = map[string]execution.Digest{}
	for rows.Next() {
		var name string
		var pin []byte
		if err := rows.Scan(&name, &pin); err != nil {
			return nil, explain(s.path, err)
		}
		if len(pin) != len(execution.Digest{}) {
			return nil, fmt.Errorf("%w: the pin of the snippet %q has %d bytes", ErrForeign, name, len(pin))
		}
		all[name] = execution.Digest(pin)
	}
	return all, explain(s.path, rows.Err())
}

// KeepSnippet keeps the pin of a snippet that is being saved, and the event that says so,
// together.
func (s *SQLite) KeepSnippet(ctx context.Context, name string, pin execution.Digest, e audit.Event) error {
	events := s.signed([]audit.Event{e})
	err := s.commit(ctx, 0, func(ctx context.Context, t *transaction) error {
		if _, err := t.keepSnippet.ExecContext(ctx, name, pin[:]); err != nil {
			return err
		}
		return t.record(ctx, events)
	})
	if err != nil {
		return fmt.Errorf("keep the pin of the snippet %s: %w", name, err)
	}
	return nil
}

// DropSnippet forgets the pin of a snippet, and keeps the event that says so.
func (s *SQLite) DropSnippet(ctx context.Context, name string, e audit.Event) error {
	events := s.signed([]audit.Event{e})
	err := s.commit(ctx, 0, func(ctx context.Context, t *transaction) error {
		if _, err := t.dropSnippet.ExecContext(ctx, name); err != nil {
			return err
		}
		return t.record(ctx, events)
	})
	if err != nil {
		return fmt.Errorf("forget the snippet %s: %w", name, err)
	}
	return nil
}
