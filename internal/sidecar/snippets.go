package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/snippet"
	"github.com/gearbox-mcp/gearbox/internal/store"
)

// snippetTools are the tools of the snippets of a data directory, whole or not.
func snippetTools(dataDir string) ([]string, error) {
	names, err := snippet.Open(dataDir, nil).Names()
	for i, name := range names {
		names[i] = mcpserver.SnippetTool(name)
	}
	return names, err
}

// Snippets are the saved scripts of the data directory.
func (r Records) Snippets() snippet.Book { return snippet.Open(r.dataDir, r.SQLite) }

// Snippets are the saved scripts of the data directory, for a process that runs them.
func (s *Sidecar) Snippets() snippet.Book { return snippet.Open(s.places.dataDir, s.records) }

// SnippetFrom is the request of an operation that ended well, to be saved. What a snippet
// does not keep, files and standard input, is refused: without them the code would do
// something else.
func (r Records) SnippetFrom(ctx context.Context, id execution.ID) (execution.Request, error) {
	o, rec, err := r.Operation(ctx, id)
	if err != nil {
		return execution.Request{}, err
	}
	q := rec.Request
	switch {
	case o.State != execution.StateFinished || o.Status != execution.StatusOK:
		return q, fmt.Errorf("the operation %s did not end well: only a script that worked is saved from the records", id)
	case q.Language == execution.Tool:
		return q, fmt.Errorf("the operation %s is the call of a tool, and no script", id)
	case q.Code == "":
		return q, fmt.Errorf("the code of %s is not kept (records.code is off): save it with --file", id)
	case len(q.Files) > 0 || len(q.Stdin) > 0:
		return q, fmt.Errorf("the operation %s had files or standard input, which a snippet does not keep: make parameters of what differs and save the code with --file", id)
	}
	return q, nil
}

// SaveSnippet saves a script, and the data directory if it is not there. What cannot be
// recorded is not saved. The error wraps [snippet.ErrExists] when there is one of the name
// and replace does not say that it may go.
func SaveSnippet(ctx context.Context, o Options, by execution.Client, s snippet.Snippet, replace bool, from execution.ID) error {
	return withSnippets(ctx, o, by, func(records *store.SQLite, b snippet.Book) error {
		e := snippetEvent(by, "saved", "a snippet was saved", s.Name)
		e.Operation, e.Code = from, execution.DigestOf([]byte(s.Language), []byte(s.Code))
		e.Details["pin"] = s.Pin().String()
		return b.Save(ctx, s, replace, func(ctx context.Context) error { return records.KeepSnippet(ctx, s.Name, s.Pin(), e) })
	})
}

// RemoveSnippet takes a saved script away, whole or not, and records that. The error wraps
// [snippet.ErrUnknown] when there is none.
func RemoveSnippet(ctx context.Context, o Options, by execution.Client, name string) error {
	return withSnippets(ctx, o, by, func(records *store.SQLite, b snippet.Book) error {
		e := snippetEvent(by, "removed", "a snippet was removed", name)
		return b.Remove(ctx, name, func(ctx context.Context) error { return records.DropSnippet(ctx, name, e) })
	})
}

func snippetEvent(by execution.Client, decision, reason, name string) audit.Event {
	return audit.Event{
		Time: time.Now(), Type: audit.Config, Principal: execution.Local, Client: by,
		Decision: decision, Reason: reason, Details: map[string]string{"snippet": name},
	}
}

func withSnippets(ctx context.Context, o Options, by execution.Client, do func(*store.SQLite, snippet.Book) error) error {
	dir, err := o.dataDir()
	if err != nil {
		return err
	}
	if err := makeDataDir(dir); err != nil {
		return err
	}
	records, err := store.Open(ctx, store.Options{Dir: dir, Version: by.Version})
	if err != nil {
		return err
	}
	return errors.Join(do(records, snippet.Open(dir, records)), records.Close())
}

// shelf is what an MCP server offers: the snippets that were whole when it started.
type shelf struct {
	snippet.Book
	all []snippet.Snippet
}

var _ mcpserver.Snippets = shelf{}

// shelf logs those that are refused. Commands that run one program offer nothing.
func (s *Sidecar) shelf(ctx context.Context, o Options, l *slog.Logger) (mcpserver.Snippets, error) {
	sh := shelf{Book: s.Snippets()}
	if !o.Transport.serves() {
		return sh, nil
	}
	entries, err := sh.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Err != nil {
			l.LogAttrs(ctx, slog.LevelError, "a snippet is not offered", slog.String("snippet", e.Snippet.Name), slog.Any("error", e.Err))
			continue
		}
		sh.all = append(sh.all, e.Snippet)
	}
	return sh, nil
}

// Offered implements [mcpserver.Snippets].
func (s shelf) Offered() []snippet.Snippet { return s.all }

// Load implements [mcpserver.Snippets].
func (s shelf) Load(ctx context.Context, name string) (snippet.Snippet, error) {
	found, err := s.Book.Load(ctx, name)
	var refused *snippet.RefusedError
	switch {
	case errors.Is(err, snippet.ErrUnknown):
		return found, &execution.RejectedError{Code: execution.CodeNotFound, Message: "the operator has removed the snippet " + name}
	case errors.As(err, &refused):
		return found, &execution.RejectedError{
			Code:    execution.CodeUnavailable,
			Message: "the snippet " + name + " is not what the operator saved, and nothing was run: tell your user, who finds out more with gearbox snippet list",
		}
	}
	return found, err
}

// SnippetTool is the tool that a snippet is called by.
func SnippetTool(name string) string { return mcpserver.SnippetTool(name) }
