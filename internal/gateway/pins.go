package gateway

import (
	"context"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Change is a tool whose server describes it differently from what was accepted.
type Change struct {
	// Now is the definition that the server has now, Pin the digest of it, and Before that
	// of the accepted one.
	Now         tool.Definition
	Pin, Before execution.Digest
	Differences []catalog.Difference
}

// Changes are the tools of a server, which is waited for, that changed since they were
// accepted, by name. Errors are those of [Gateway.Stub].
func (g *Gateway) Changes(ctx context.Context, server string) ([]Change, error) {
	v, err := g.with(ctx, server)
	if err != nil {
		return nil, err
	}
	s, err := v.catalog.Server(server)
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, e := range s.Entries {
		if now, is := v.changed[e.Definition.ID()]; is {
			d := now.entry.Definition
			all = append(all, Change{Now: d, Pin: now.entry.Pin, Before: now.before, Differences: catalog.Changed(e.Definition, d)})
		}
	}
	return all, nil
}

// Accept has exactly these definitions be the accepted ones.
func (g *Gateway) Accept(ctx context.Context, changes ...Change) error {
	definitions := make([]tool.Definition, 0, len(changes))
	for _, c := range changes {
		definitions = append(definitions, c.Now)
	}
	if err := g.c.Pins.KeepTools(ctx, true, definitions...); err != nil {
		return fmt.Errorf("accept definitions: %w", err)
	}
	for _, d := range definitions {
		g.Changed(d.Server)
	}
	return nil
}

// List shows all tools of a server, which is waited for, or of all that are ready or being
// started. Errors are those of [Gateway.Search] and [Gateway.Stub].
func (g *Gateway) List(ctx context.Context, server, detail string) (string, error) {
	level, err := levelOf(detail, catalog.DetailSignature)
	if err != nil {
		return "", err
	}
	if server == "" {
		v, err := g.now(ctx, true)
		if err != nil {
			return "", err
		}
		return catalog.Render(v.catalog.Entries(), level), nil
	}
	v, err := g.with(ctx, server)
	if err != nil {
		return "", err
	}
	s, err := v.catalog.Server(server)
	if err != nil {
		return "", err
	}
	return catalog.Render(s.Entries, level), nil
}
