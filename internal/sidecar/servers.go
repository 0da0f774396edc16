package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gateway"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/tool"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth"
	"github.com/gearbox-mcp/gearbox/internal/upstream/serverfile"
)

// ToolOptions say how programs may call the tools of other servers.
type ToolOptions struct {
	// Approve is "script" when a human's yes to a program is one to the calls that stand
	// in it, and "call", the default, when each call that the rules ask about is asked
	// about when it is made.
	Approve string
}

// ToolApprovals are the values of [ToolOptions.Approve].
func ToolApprovals() []string { return []string{"call", "script"} }

func (o ToolOptions) check() error {
	if o.Approve != "" && o.Approve != "call" && o.Approve != "script" {
		return about("tools-approve", "--tools-approve %q: use one of %v", o.Approve, ToolApprovals())
	}
	return nil
}

// serverFiles are the files that configure other servers.
func (o Options) serverFiles(dataDir string) []string {
	if o.MCPServers != nil {
		return o.MCPServers
	}
	if path := serverfile.Default(dataDir); path != "" {
		return []string{path}
	}
	return nil
}

// Servers are the MCP servers whose tools programs may call, as they are configured.
func Servers(o Options) (serverfile.Config, error) {
	dir, err := o.dataDir()
	if err != nil {
		return serverfile.Config{}, err
	}
	return o.configured(dir)
}

func (o Options) configured(dataDir string) (serverfile.Config, error) {
	files := o.serverFiles(dataDir)
	if len(files) == 0 {
		return serverfile.Config{}, nil
	}
	home, _ := os.UserHomeDir()   // a server that names it has a fault then
	workspace, _ := os.Getwd()    // as well
	program, _ := os.Executable() // and one that is this program is found by its name
	c, err := serverfile.Load(files, serverfile.Options{
		Lookup: os.LookupEnv, EnvFiles: o.EnvFiles, Home: home, Workspace: workspace, Self: program,
	})
	if err != nil {
		return c, about("mcp-servers", "%w", err)
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		if _, err := approvals(*s); err != nil && s.Fault == "" {
			s.Fault = fmt.Sprintf("%s: tools.approve: %v", s.Origin, err)
		}
	}
	return c, nil
}

// approvals are the rules that have each call of some tools of a server asked about.
func approvals(s upstream.Spec) ([]policy.Rule, error) {
	var rules []policy.Rule
	for _, pattern := range s.Approve {
		rule, err := policy.ToolRule(s.Name, pattern)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule.From(s.Origin))
	}
	return rules, nil
}

// serverRules has each call of the tools that a configuration file lists below approve
// asked about. A server with a fault has no tools.
func (o Options) serverRules(dataDir string) (gear.Overlays, error) {
	c, err := o.configured(dataDir)
	if err != nil {
		return gear.Overlays{}, err
	}
	var rules gear.Overlays
	for _, s := range c.Servers {
		if s.Fault != "" {
			continue
		}
		ask, err := approvals(s)
		if err != nil {
			return gear.Overlays{}, fmt.Errorf("%s: tools.approve: %w", s.Origin, err)
		}
		rules.Ask = append(rules.Ask, ask...)
	}
	return rules, nil
}

// openServers prepares sessions with other servers. A short command starts those that it
// needs, and a server all of them.
func (s *Sidecar) openServers(ctx context.Context, o Options, dir string, l *slog.Logger) error {
	c, err := o.configured(dir)
	if err != nil || len(c.Servers) == 0 {
		return err
	}
	for _, w := range c.Warnings {
		l.Warn("the configuration of MCP servers", "file", w.File, "line", w.Line, "server", w.Server, "warning", w.Message)
	}
	if !o.Transport.serves() {
		c.Servers = lazy(c.Servers)
	}
	launcher := newBoxes(s.places, s.journal, dir, c.Servers)
	var g *gateway.Gateway
	s.servers, err = upstream.New(c.Servers, upstream.Options{
		Logger: l, Redactor: s.redactor, Version: s.self.Version, Vault: oauth.Open(dir), Launcher: launcher,
		OnChange: func(server string) { g.Changed(server) },
	})
	if err != nil {
		return err
	}
	g, err = gateway.New(gateway.Config{Servers: s.servers, Pins: s.records, Specs: c.Servers, Logger: l})
	if err != nil {
		return err
	}
	s.gateway = g
	s.servers.Start(ctx)
	return nil
}

// Upstreams tells how the sessions with other servers stand.
func (s *Sidecar) Upstreams() []upstream.Status {
	if s.servers == nil {
		return nil
	}
	return s.servers.Servers()
}

// Gateway calls the tools of other servers; nil when none is configured.
func (s *Sidecar) Gateway() *gateway.Gateway { return s.gateway }

// toolbox is the gateway as an MCP server speaks of it.
type toolbox struct {
	*gateway.Gateway

	ctx     context.Context //nolint:containedctx // instructions are made without a call
	servers *upstream.Fleet
}

func (s *Sidecar) toolbox(ctx context.Context) mcpserver.Toolbox {
	if s.gateway == nil {
		return nil
	}
	return toolbox{s.gateway, ctx, s.servers}
}

// Search implements [mcpserver.Toolbox].
func (t toolbox) Search(ctx context.Context, query, server string, limit int, detail string) (string, error) {
	text, err := t.Gateway.Search(ctx, query, server, limit, detail)
	return text, rejectedTools("server", err)
}

// Describe implements [mcpserver.Toolbox].
func (t toolbox) Describe(ctx context.Context, names []string, detail string) (string, error) {
	text, err := t.Gateway.Describe(ctx, names, detail)
	return text, rejectedTools("names", err)
}

// Stub implements [mcpserver.Toolbox].
func (t toolbox) Stub(ctx context.Context, server string) (string, error) {
	text, err := t.Gateway.Stub(ctx, server)
	return text, rejectedTools("server", err)
}

// Servers implements [mcpserver.Toolbox].
func (t toolbox) Servers() []mcpserver.ToolServer {
	var all []mcpserver.ToolServer
	for _, s := range t.servers.Servers() {
		all = append(all, mcpserver.ToolServer{Name: s.Name})
	}
	return all
}

// Instructions implements [mcpserver.Toolbox].
func (t toolbox) Instructions() string { return t.Gateway.Instructions(t.ctx) }

// Details implements [mcpserver.Toolbox].
func (toolbox) Details() []string {
	var all []string
	for _, d := range catalog.Details() {
		all = append(all, string(d))
	}
	return all
}

// rejectedTools is an error that a caller can mend, in the form in which it is told.
func rejectedTools(field string, err error) error {
	var missing *catalog.NotFoundError
	var failed *tool.Error
	switch {
	case errors.As(err, &missing):
		return &execution.RejectedError{Code: execution.CodeNotFound, Field: field, Message: err.Error()}
	case !errors.As(err, &failed):
		return err
	case failed.Class == tool.NotFound:
		return &execution.RejectedError{Code: execution.CodeNotFound, Field: field, Message: failed.Message}
	}
	return &execution.RejectedError{Code: execution.CodeUnavailable, Field: field, Message: failed.Message}
}
