package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// Ask implements [engine.Tools].
func (g *Gateway) Ask(ctx context.Context, head bridge.CallHead) (bridge.AnswerHead, []byte) {
	text, form, err := g.ask(ctx, head)
	if err == nil {
		return bridge.AnswerHead{Form: form}, []byte(text)
	}
	e := &bridge.CallError{Class: string(tool.Failed), Message: err.Error(), Server: head.Server}
	var failed *tool.Error
	var missing *catalog.NotFoundError
	var rejected *execution.RejectedError
	switch {
	case errors.As(err, &failed):
		e.Class, e.Message = string(failed.Class), failed.Message
	case errors.As(err, &missing):
		e.Class = string(tool.NotFound)
	case errors.As(err, &rejected):
		e.Class = string(tool.Invalid)
	case ctx.Err() == nil:
		g.c.Logger.Error("a question about tools failed for a reason of our own", "want", head.Want, "error", err)
		e.Class, e.Message = string(tool.Unavailable), "The question could not be answered; the log of the server has the reason."
	}
	return bridge.AnswerHead{Error: e}, nil
}

func (g *Gateway) ask(ctx context.Context, head bridge.CallHead) (string, bridge.Form, error) {
	switch head.Want {
	case bridge.WantModule:
		text, err := g.module(ctx, head.Server)
		return text, bridge.FormJSON, err
	case bridge.WantSearch:
		text, err := g.Search(ctx, head.Query, head.Server, head.Limit, head.Detail)
		return text, bridge.FormText, err
	case bridge.WantDescribe:
		text, err := g.Describe(ctx, head.Names, head.Detail)
		return text, bridge.FormText, err
	default:
		return "", "", &tool.Error{Class: tool.Invalid, Message: fmt.Sprintf("%q is nothing that can be asked", string(head.Want))}
	}
}

// module is the descriptor of one server, for which it waits, or the index of all that are
// configured, for which it waits for none: who imports one server has no use for the others.
func (g *Gateway) module(ctx context.Context, server string) (string, error) {
	if server == "" {
		v, err := g.now(ctx, false)
		if err != nil {
			return "", err
		}
		text, err := v.catalog.Module("")
		return string(text), err
	}
	v, err := g.with(ctx, server)
	if err != nil {
		return "", err
	}
	text, err := v.catalog.Module(server)
	return string(text), err
}

// with is what the servers offer once that one is ready.
func (g *Gateway) with(ctx context.Context, server string) (*view, error) {
	v, err := g.now(ctx, false)
	if err != nil {
		return nil, err
	}
	if configured, known := v.server(server, ""); known {
		return g.await(ctx, v, configured, "")
	}
	return v, nil
}

// Search finds tools of the servers that are ready or being started, in words for a model.
// The error is a *[execution.RejectedError] or a *[catalog.NotFoundError] when the caller
// can mend it.
func (g *Gateway) Search(ctx context.Context, query, server string, limit int, detail string) (string, error) {
	level, err := levelOf(detail, catalog.DetailSignature)
	if err != nil {
		return "", err
	}
	v, err := g.searched(ctx, server)
	if err != nil {
		return "", err
	}
	found, err := v.catalog.Search(query, server, limit)
	if err != nil {
		return "", err
	}
	return found.Text(query, level) + g.missing(), nil
}

// Describe tells of tools by their names, in words for a model, and of those that it cannot
// tell of why not. Errors are those of Search; where none can be described, that of the first.
func (g *Gateway) Describe(ctx context.Context, names []string, detail string) (string, error) {
	level, err := levelOf(detail, catalog.DetailFull)
	if err != nil {
		return "", err
	}
	var entries []catalog.Entry
	var without strings.Builder
	var first error
	for _, name := range names {
		_, e, err := g.find(ctx, "", name)
		var failed *tool.Error
		switch {
		case err == nil:
			entries = append(entries, e)
		case errors.As(err, &failed):
			first = cmp.Or(first, err)
			fmt.Fprintf(&without, "# not described: %s: %s\n", visible.Line(name), visible.Line(failed.Message))
		default:
			return "", err
		}
	}
	if len(entries) == 0 {
		return "", first
	}
	return catalog.Render(entries, level) + without.String(), nil
}

// searched is what a search looks into: all servers, or one, which alone is waited for then.
func (g *Gateway) searched(ctx context.Context, server string) (*view, error) {
	if server == "" {
		return g.now(ctx, true)
	}
	v, err := g.with(ctx, server)
	var failed *tool.Error
	if errors.As(err, &failed) { // the answer says that it is missing, and why
		return g.now(ctx, false)
	}
	return v, err
}

func levelOf(detail string, otherwise catalog.Detail) (catalog.Detail, error) {
	switch level := catalog.Detail(detail); {
	case detail == "":
		return otherwise, nil
	case level.Valid():
		return level, nil
	}
	return "", &execution.RejectedError{
		Code: execution.CodeInvalidArgument, Field: "detail", Message: fmt.Sprintf("%q is none of %v", detail, catalog.Details()),
	}
}

// Stub is the Python stub file of a server, which is waited for. Errors are those of Search,
// or a *[tool.Error].
func (g *Gateway) Stub(ctx context.Context, server string) (string, error) {
	v, err := g.with(ctx, server)
	if err != nil {
		return "", err
	}
	return v.catalog.Stub(server)
}

// missing names the servers that a search could not look into.
func (g *Gateway) missing() string {
	var b strings.Builder
	for _, s := range g.c.Servers.Servers() {
		if s.State == upstream.Failed || s.State == upstream.Starting {
			fmt.Fprintf(&b, "# %s is not available: %s\n", s.Name, cmp.Or(withoutPaths(s.Reason), "it is still being started"))
		}
	}
	return b.String()
}

// instructionBudget is about 1,500 tokens.
const instructionBudget = 6_000

// Instructions say what a model should know of the tools at the start: all of them where
// they are few. What a server that is not ready yet offered before counts for it, and nothing
// of one that has failed.
func (g *Gateway) Instructions(ctx context.Context) string {
	servers := g.all(g.c.Servers.Known(ctx, false))
	failed := map[string]bool{}
	for _, s := range g.c.Servers.Servers() {
		failed[s.Name] = s.State == upstream.Failed
	}
	for i := range servers {
		if len(servers[i].Tools) > 0 || failed[servers[i].Name] {
			continue
		}
		pins, err := g.c.Pins.Tools(ctx, servers[i].Name)
		if err != nil {
			g.c.Logger.Warn("the tools of a server could not be looked up", "server", servers[i].Name, "error", err)
		}
		servers[i].Tools = slices.Collect(maps.Values(pins))
	}
	return catalog.New(servers, catalog.Options{}).Instructions(instructionBudget)
}

// ForTask describes the tools to a model that is to solve a task, in at most limit
// characters, and names the servers that are missing.
func (g *Gateway) ForTask(ctx context.Context, task string, limit int) (string, error) {
	v, err := g.now(ctx, true)
	if err != nil {
		return "", err
	}
	missing := g.missing()
	return v.catalog.ForTask(task, limit-len(missing)) + missing, nil
}
