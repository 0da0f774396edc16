package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/tool"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// Prepare implements [engine.Tools]. An error that is no *[tool.Error] is that of the pins.
func (g *Gateway) Prepare(ctx context.Context, server, name string, arguments json.RawMessage) (engine.Prepared, error) {
	if name == engine.ReadResource && server != "" {
		return g.prepareRead(ctx, server, arguments)
	}
	v, e, err := g.find(ctx, server, name)
	if err != nil {
		return engine.Prepared{}, err
	}
	if e.Ambiguous {
		return engine.Prepared{}, ambiguous(e.Definition)
	}
	p := engine.Prepared{Entry: e}
	if now, is := v.changed[e.Definition.ID()]; is {
		p.Entry, p.Changed, p.Before = now.entry, now.what, now.before
	}
	if p.Arguments, err = p.Entry.Validate(arguments); err != nil {
		return engine.Prepared{}, invalid(p.Entry, err)
	}
	p.ReadOnly = readOnly(p.Entry)
	return p, nil
}

// ambiguous refuses what no rule can be for.
func ambiguous(d tool.Definition) error {
	return &tool.Error{
		Class: tool.Denied, Server: d.Server, Tool: d.Name,
		Message: fmt.Sprintf("no rule can tell %s from a tool of another server: an operator has to give one of the servers a name without a dot", d.ID()),
	}
}

// find is a tool of a server that is ready. One that is not there is looked for again once
// its server is: it may be on its way, or have been started again.
func (g *Gateway) find(ctx context.Context, server, name string) (*view, catalog.Entry, error) {
	v, err := g.now(ctx, false)
	if err != nil {
		return nil, catalog.Entry{}, err
	}
	e, err := v.resolve(server, name)
	if err == nil {
		return v, e, nil
	}
	configured, known := v.server(server, name)
	if !known {
		return nil, catalog.Entry{}, notFound(err, server, name)
	}
	if v, err = g.await(ctx, v, configured, name); err != nil {
		return nil, catalog.Entry{}, err
	}
	if e, err = v.resolve(server, name); err != nil {
		return nil, catalog.Entry{}, notFound(err, server, name)
	}
	return v, e, nil
}

// await is what the servers offer once that one is ready. Who was told that it is may be
// earlier than who tells [Gateway.Changed].
func (g *Gateway) await(ctx context.Context, v *view, server, name string) (*view, error) {
	if _, err := g.c.Servers.Server(ctx, server); err != nil {
		return nil, g.unreachable(server, name, err)
	}
	if s, err := v.catalog.Server(server); err == nil && len(s.Entries) == 0 {
		g.Changed(server)
	}
	return g.now(ctx, false)
}

func (v *view) resolve(server, name string) (catalog.Entry, error) {
	if server == "" {
		return v.catalog.Resolve(name)
	}
	return v.catalog.Tool(server, name)
}

// server is the configured server that is meant, by its own name: that of a tool when its
// own is empty. Every configured server is in a view, ready or not.
func (v *view) server(server, name string) (string, bool) {
	if server != "" {
		s, err := v.catalog.Server(server)
		if err != nil {
			return "", false
		}
		return s.Name, true
	}
	name = strings.TrimPrefix(name, "tools.")
	for i := strings.IndexByte(name, '.'); i >= 0; {
		if s, err := v.catalog.Server(name[:i]); err == nil {
			return s.Name, true
		}
		next := strings.IndexByte(name[i+1:], '.')
		if next < 0 {
			break
		}
		i += next + 1
	}
	return "", false
}

// readOnly tells that the operator trusts the server, which says so of the tool.
func readOnly(e catalog.Entry) bool {
	hint := e.Definition.Hints.ReadOnly
	return e.Trusted && hint != nil && *hint
}

// Perform implements [engine.Tools].
func (g *Gateway) Perform(ctx context.Context, p engine.Prepared, permit authz.Permit) (engine.Answered, error) {
	d := p.Entry.Definition
	if !permit.Use(p.Subject) {
		return engine.Answered{}, errors.New("the permit does not cover this call")
	}
	if p.Changed != "" {
		if err := g.c.Pins.KeepTools(ctx, true, d); err != nil {
			return engine.Answered{}, fmt.Errorf("accept the definition of %s: %w", d.ID(), err)
		}
		g.Changed(d.Server)
	}
	r, err := g.send(ctx, d, p.Arguments)
	if err != nil {
		return engine.Answered{}, g.failed(d, err)
	}
	a := engine.Answered{Result: r}
	a.Head, a.Body = p.Entry.Answer(r)
	if r.IsError {
		return a, &tool.Error{Class: tool.Failed, Message: a.Head.Error.Message, Server: d.Server, Tool: d.Name}
	}
	return a, nil
}

// prepareRead is Prepare for the reading of a resource, which is decided as a call is.
func (g *Gateway) prepareRead(ctx context.Context, server string, arguments json.RawMessage) (engine.Prepared, error) {
	v, err := g.with(ctx, server)
	if err != nil {
		return engine.Prepared{}, err
	}
	configured, known := v.server(server, "")
	if !known {
		return engine.Prepared{}, &tool.Error{Class: tool.NotFound, Message: fmt.Sprintf("there is no server %q", server), Server: server}
	}
	d := tool.Definition{Server: configured, Name: engine.ReadResource}
	if v.catalog.Ambiguous(d) {
		return engine.Prepared{}, ambiguous(d)
	}
	return engine.Prepared{Entry: catalog.Entry{Definition: d, Pin: catalog.Pin(d)}, Arguments: arguments}, nil
}

func (g *Gateway) send(ctx context.Context, d tool.Definition, arguments json.RawMessage) (tool.Result, error) {
	if d.Name != engine.ReadResource {
		return g.c.Servers.Call(ctx, d.Server, d.Name, arguments)
	}
	var of struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(arguments, &of); err != nil {
		return tool.Result{}, err
	}
	return g.c.Servers.Read(ctx, d.Server, of.URI)
}

// Await implements [engine.Bindings].
func (g *Gateway) Await(ctx context.Context, targets []string) {
	var all sync.WaitGroup
	for _, target := range slices.Compact(slices.Sorted(slices.Values(targets))) {
		all.Go(func() { _, _, _ = g.find(ctx, "", target) }) // the call itself tells why it is not there
	}
	all.Wait()
}

// Meant implements [engine.Bindings].
func (g *Gateway) Meant(target string) (policy.Permission, bool) {
	g.mu.Lock()
	v := g.shown
	g.mu.Unlock()
	if v == nil {
		return policy.Permission{}, false
	}
	e, err := v.catalog.Resolve(target)
	if err != nil {
		return policy.Permission{}, false
	}
	return policy.Permission{Kind: policy.Tool, Target: e.Definition.ID(), ReadOnly: readOnly(e)}, true
}

// failed puts into words why a call has no answer.
func (g *Gateway) failed(d tool.Definition, err error) error {
	var late *upstream.TimeoutError
	var refused *upstream.ProtocolError
	var broken *upstream.AnswerError
	e := &tool.Error{Class: tool.Failed, Message: err.Error(), Server: d.Server, Tool: d.Name}
	switch {
	case errors.As(err, &late):
		e.Class = tool.Timeout
	case errors.Is(err, upstream.ErrNotAllowed):
		e.Class = tool.Denied
	case errors.As(err, &refused):
		e.Message = refused.Message
	case errors.As(err, &broken):
	default:
		return g.unreachable(d.Server, d.Name, err)
	}
	return e
}

// unreachable puts into words why a server cannot be called.
func (g *Gateway) unreachable(server, name string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &tool.Error{Class: tool.Unavailable, Message: withoutPaths(err.Error()), Server: server, Tool: name}
}

// hostPath is an absolute path in a reason, or a list of them.
var hostPath = regexp.MustCompile(`(^|[\s"'=(,:])((?:[A-Za-z]:\\|/[^/\s"',;)])[^\s"',;)]*)`)

// withoutPaths is a reason for models and programs, who have no use for how the operator's
// machine is laid out. The operator reads all of it in gearbox status and upstream test.
func withoutPaths(reason string) string { return hostPath.ReplaceAllString(reason, "$1…") }

func notFound(err error, server, name string) error {
	return &tool.Error{Class: tool.NotFound, Message: err.Error(), Server: server, Tool: name}
}

func invalid(e catalog.Entry, err error) error {
	out := &tool.Error{Class: tool.Invalid, Message: err.Error(), Server: e.Definition.Server, Tool: e.Definition.Name}
	var bad *catalog.InvalidArgumentsError
	if errors.As(err, &bad) {
		out.Message, out.Problems = fmt.Sprintf("The arguments do not fit %s. It is called as %s.", bad.Tool, bad.Signature), bad.Problems
	}
	return out
}
