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

// Acceptances is how many definitions humans have accepted so far, for all servers. It
// changes with each.
func (s *SQLite) Acceptances(ctx context.Context) (n int64, err error) {
	err = s.reads.QueryRowContext(ctx, "SELECT coalesce(max(accepted), 0) FROM tools WHERE accepted > 0").Scan(&n)
	return n, explain(s.path, err)
}

// mostUnlisted bounds the tools of a server that are kept though it lists them no more and
// nobody has accepted a change of them: a server may list ever new names.
const mostUnlisted = 1_000

// keptTool is a row.
type keptTool struct{ server, name, text string }

// KeepTools keeps definitions of tools. With accept a human accepted them: they replace what
// is there, and are kept for good. Otherwise they are all that a server lists now: what is
// there of them stays, whichever process was first, and of what the server does not list at
// most 1,000 that were never accepted stay, namely those that were seen first, so that new
// names do not make it forgotten what an old one meant.
func (s *SQLite) KeepTools(ctx context.Context, accept bool, definitions ...tool.Definition) error {
	rows := make([]keptTool, 0, len(definitions))
	listed := map[string][]string{} // names by server
	size := int64(0)
	for _, d := range definitions {
		text, err := encodeJSON(d)
		if err != nil {
			return fmt.Errorf("encode the definition of %s: %w", d.ID(), err)
		}
		rows = append(rows, keptTool{d.Server, d.Name, text})
		listed[d.Server] = append(listed[d.Server], d.Name)
		size += int64(len(text))
	}
	err := s.commit(ctx, size, func(ctx context.Context, t *transaction) error {
		if accept {
			return t.acceptTools(ctx, rows)
		}
		return t.keepTools(ctx, rows, listed)
	})
	if err != nil {
		return fmt.Errorf("keep definitions of tools: %w", err)
	}
	return nil
}

func (t *transaction) acceptTools(ctx context.Context, rows []keptTool) error {
	for _, r := range rows {
		if _, err := t.acceptTool.ExecContext(ctx, r.server, r.name, r.text); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) keepTools(ctx context.Context, rows []keptTool, listed map[string][]string) error {
	listing := map[string]int64{} // its number, by server
	for server := range listed {
		var before int64
		if err := t.lastSeen.QueryRowContext(ctx, server).Scan(&before); err != nil {
			return err
		}
		listing[server] = before + 1
	}
	for _, r := range rows {
		if _, err := t.keepTool.ExecContext(ctx, r.server, r.name, r.text, listing[r.server]); err != nil {
			return err
		}
	}
	for server, names := range listed {
		text, err := encodeJSON(names)
		if err != nil {
			return err
		}
		if _, err := t.trimTools.ExecContext(ctx, server, text, mostUnlisted); err != nil {
			return err
		}
	}
	return nil
}
