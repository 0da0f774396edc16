package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Tools are the tools of a server as they were first seen, or as a human last accepted
// them, by their names.
func (s *SQLite) Tools(ctx context.Context, server string) (all map[string]tool.Definition, err error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT name, definition FROM tools WHERE server = ?", server)
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer func() { err = errors.Join(err, explain(s.path, rows.Close())) }()
	all = map[string]tool.Definition{}
	for rows.Next() {
		var name string
		var text []byte
		if err := rows.Scan(&name, &text); err != nil {
			return nil, explain(s.path, err)
		}
		var d tool.Definition
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("read the definition of %s.%s: %w", server, name, err)
		}
		all[name] = d
	}
	return all, explain(s.path, rows.Err())
}

// KeepTools keeps definitions of tools. With accept they replace what is there; otherwise
// what is there stays, whichever process was first.
func (s *SQLite) KeepTools(ctx context.Context, accept bool, definitions ...tool.Definition) error {
	type row struct{ server, name, text string }
	rows := make([]row, 0, len(definitions))
	size := int64(0)
	for _, d := range definitions {
		text, err := encodeJSON(d)
		if err != nil {
			return fmt.Errorf("encode the definition of %s: %w", d.ID(), err)
		}
		rows = append(rows, row{d.Server, d.Name, text})
		size += int64(len(text))
	}
	err := s.commit(ctx, size, func(ctx context.Context, t *transaction) error {
		keep := t.keepTool
		if accept {
			keep = t.acceptTool
		}
		for _, r := range rows {
			if _, err := keep.ExecContext(ctx, r.server, r.name, r.text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep definitions of tools: %w", err)
	}
	return nil
}
