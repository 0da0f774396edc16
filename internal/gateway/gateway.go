package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// Servers are sessions with other servers. It is safe for concurrent use.
type Servers interface {
	// Servers are all that are configured, in order.
	Servers() []upstream.Status
	// Known are those that are ready; with wait those too that are still being started.
	Known(ctx context.Context, wait bool) []tool.Server
	// Server starts the server or waits for it, if need be.
	Server(ctx context.Context, name string) (tool.Server, error)
	Call(ctx context.Context, server, name string, arguments json.RawMessage) (tool.Result, error)
	Read(ctx context.Context, server, uri string) (tool.Result, error)
}

// Pins are definitions as they were first seen, or as a human last accepted them. It is
// safe for concurrent use and shared by all processes of a data directory.
type Pins interface {
	Tools(ctx context.Context, server string) (map[string]tool.Definition, error)
	// KeepTools keeps what a human accepts, or else all that a server lists, as far as it
	// was never seen.
	KeepTools(ctx context.Context, accept bool, definitions ...tool.Definition) error
	// Acceptances changes when a human accepts something, in whichever process.
	Acceptances(ctx context.Context) (int64, error)
}

// Config is what a Gateway needs. Servers, Pins and Logger are required.
type Config struct {
	Servers Servers
	Pins    Pins
	// Specs are what is configured of the servers.
	Specs  []upstream.Spec
	Logger *slog.Logger
}

// Gateway calls tools. It is safe for concurrent use.
type Gateway struct {
	c     Config
	specs map[string]upstream.Spec

	seen atomic.Int64 // counts changes of what the servers offer

	mu      sync.Mutex // guards what follows
	shown   *view
	version int64 // of seen, when shown was made
}

// view is what the servers offer at one moment.
type view struct {
	catalog     *catalog.Catalog // with definitions as they were accepted
	changed     map[string]changed
	acceptances int64 // that there were before
}

// changed is a tool that its server describes differently from what was accepted.
type changed struct {
	entry  catalog.Entry // as it is now
	before execution.Digest
	what   string
}

// New makes a Gateway.
func New(c Config) (*Gateway, error) {
	if c.Servers == nil || c.Pins == nil || c.Logger == nil {
		return nil, errors.New("gateway: servers, pins and a logger are required")
	}
	g := &Gateway{c: c, specs: map[string]upstream.Spec{}}
	g.seen.Store(1)
	for _, s := range c.Specs {
		g.specs[s.Name] = s
	}
	return g, nil
}

// Changed says that a server may offer something else now.
func (g *Gateway) Changed(string) { g.seen.Add(1) }

// now is what the servers that are ready offer; with wait those too that are still being
// started.
func (g *Gateway) now(ctx context.Context, wait bool) (*view, error) {
	g.mu.Lock()
	shown, current := g.shown, g.version == g.seen.Load()
	g.mu.Unlock()
	if current && g.outdated(ctx, shown) {
		g.seen.Add(1)
		current = false
	}
	if current && !wait {
		return shown, nil
	}
	version := g.seen.Load()
	servers := g.c.Servers.Known(ctx, wait)
	g.mu.Lock()
	defer g.mu.Unlock()
	// Who waited may know more than who is told of changes does yet.
	if g.shown != nil && (g.version > version || g.version == version && !wait) {
		return g.shown, nil
	}
	v, err := g.view(ctx, servers)
	if err != nil {
		return nil, fmt.Errorf("compare tools with what was accepted: %w", err)
	}
	g.shown, g.version = v, version
	return v, nil
}

// outdated tells that something was accepted since, perhaps by another process, where that
// may make a changed tool one that is not. A count that cannot be read makes it so as well:
// making the view anew says why.
func (g *Gateway) outdated(ctx context.Context, v *view) bool {
	if len(v.changed) == 0 {
		return false
	}
	n, err := g.c.Pins.Acceptances(ctx)
	return err != nil || n != v.acceptances
}

// view puts accepted definitions in the place of changed ones. The mutex is held.
func (g *Gateway) view(ctx context.Context, servers []tool.Server) (*view, error) {
	acceptances, err := g.c.Pins.Acceptances(ctx)
	if err != nil {
		return nil, err
	}
	v := &view{changed: map[string]changed{}, acceptances: acceptances}
	var shown []tool.Server
	for _, s := range g.all(servers) {
		accepted, err := g.pin(ctx, s)
		if err != nil {
			return nil, err
		}
		shown = append(shown, v.accept(s, accepted, g.options(nil)))
	}
	v.catalog = catalog.New(shown, g.options(v))
	return v, nil
}

// all are the configured servers, those that are not ready without tools, so that what a
// server is called in Python does not hang on which others are ready.
func (g *Gateway) all(ready []tool.Server) []tool.Server {
	byName := map[string]tool.Server{}
	for _, s := range ready {
		byName[s.Name] = s
	}
	var all []tool.Server
	for _, s := range g.c.Specs {
		if s.Disabled {
			continue
		}
		one, is := byName[s.Name]
		if !is {
			one = tool.Server{Name: s.Name, Alias: s.Alias, Description: s.Description}
		}
		all = append(all, one)
	}
	return all
}

// pin keeps the tools of a server that were never seen, and returns all as they are kept.
func (g *Gateway) pin(ctx context.Context, s tool.Server) (map[string]tool.Definition, error) {
	accepted, err := g.c.Pins.Tools(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	fresh := func(d tool.Definition) bool { _, known := accepted[d.Name]; return !known }
	if !slices.ContainsFunc(s.Tools, fresh) {
		return accepted, nil
	}
	if err := g.c.Pins.KeepTools(ctx, false, s.Tools...); err != nil {
		return nil, err
	}
	return g.c.Pins.Tools(ctx, s.Name) // another process may have been first
}

// accept is the server with its tools as they were accepted.
func (v *view) accept(s tool.Server, accepted map[string]tool.Definition, o catalog.Options) tool.Server {
	tools := make([]tool.Definition, 0, len(s.Tools))
	for _, d := range s.Tools {
		before, known := accepted[d.Name]
		if known && catalog.Pin(before) != catalog.Pin(d) {
			one := s
			one.Tools = []tool.Definition{d}
			entries := catalog.New([]tool.Server{one}, o).Entries()
			if len(entries) == 1 {
				v.changed[d.ID()] = changed{entries[0], catalog.Pin(before), differences(before, d)}
			}
			d = before
		}
		tools = append(tools, d)
	}
	s.Tools = tools
	return s
}

func differences(before, after tool.Definition) string {
	text := "The server describes this tool differently from what was accepted:"
	for _, d := range catalog.Changed(before, after) {
		text += " " + d.String() + "."
	}
	return text
}

func (g *Gateway) options(v *view) catalog.Options {
	o := catalog.Options{Trusted: func(server string) bool { return g.specs[server].TrustHints }}
	if v != nil {
		o.Note = func(d tool.Definition) string {
			if _, is := v.changed[d.ID()]; is {
				return "changed since it was accepted: a human is asked first"
			}
			return ""
		}
	}
	if g.shown != nil {
		o.Previous = g.shown.catalog
	}
	return o
}
