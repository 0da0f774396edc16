package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// listing is what came of asking a server for its tools.
type listing struct {
	tools []tool.Definition
	notes []string // what was not taken
}

// page is one answer to tools/list.
type page struct {
	Tools []json.RawMessage `json:"tools"`
	Next  string            `json:"nextCursor"`
}

// gather collects the pages, up to what is accepted of one server.
type gather struct {
	spec  Spec
	names map[string]bool
	bytes int
	out   listing
	// dropped counts what was not taken by the reason.
	dropped int
	first   string
}

// list asks for all tools.
func (n *session) list(ctx context.Context) (listing, error) {
	g := &gather{spec: n.spec, names: map[string]bool{}}
	if c := n.client.InitializeResult().Capabilities; c == nil || c.Tools == nil {
		return g.out, nil
	}
	seen := map[string]bool{}
	for cursor := ""; ; {
		p, err := n.page(ctx, cursor)
		if err != nil {
			return listing{}, fmt.Errorf("ask for its tools: %w", err)
		}
		if !g.take(p) {
			break
		}
		if p.Next == "" {
			break
		}
		seen[cursor] = true
		if seen[p.Next] || len(seen) >= maxPages {
			g.note("its list of tools does not end: %d pages were read", len(seen))
			break
		}
		cursor = p.Next
	}
	return g.finish(), nil
}

// page asks for one page. The SDK may have it in its cache, as the server permitted:
// then nothing has changed.
func (n *session) page(ctx context.Context, cursor string) (page, error) {
	ctx, a := expecting(ctx)
	_, err := n.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	raw, _ := a.raw(n.opts.MaxMessage)
	if raw == nil {
		if err != nil {
			return page{}, err
		}
		return n.pages[cursor], nil
	}
	// What the SDK cannot read of one tool is no reason to lose the others.
	var p page
	if err := json.Unmarshal(raw, &p); err != nil {
		return page{}, fmt.Errorf("its list cannot be read: %w", err)
	}
	n.pages[cursor] = p
	return p, nil
}

// take adds a page, and reports whether more is accepted.
func (g *gather) take(p page) bool {
	for _, raw := range p.Tools {
		d, err := definition(g.spec.Name, raw)
		switch {
		case err != nil:
			g.drop(fmt.Sprintf("tool %.40q: %v", d.Name, err))
		case g.names[d.Name]:
			g.drop(fmt.Sprintf("tool %.40q is there twice; the first is taken", d.Name))
		case !g.spec.Allows(d.Name):
		case len(g.out.tools) >= MaxTools:
			g.note("it has more than %d tools; the first are taken", MaxTools)
			return false
		case g.bytes+len(raw) > MaxDefinitions:
			g.note("the definitions of its tools take more than %d bytes; the first %d tools are taken", MaxDefinitions, len(g.out.tools))
			return false
		default:
			g.names[d.Name] = true
			g.bytes += len(raw)
			g.out.tools = append(g.out.tools, d)
		}
	}
	return true
}

func (g *gather) note(format string, args ...any) {
	g.out.notes = append(g.out.notes, fmt.Sprintf(format, args...))
}

func (g *gather) drop(why string) {
	if g.dropped++; g.dropped == 1 {
		g.first = why
	}
}

// finish sorts the tools by name: the order of a list is no part of what it says, and
// one that differs each time would be a change each time.
func (g *gather) finish() listing {
	if g.dropped > 0 {
		g.note("%d tools were not taken; the first: %s", g.dropped, g.first)
	}
	slices.SortFunc(g.out.tools, func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) })
	return g.out
}
