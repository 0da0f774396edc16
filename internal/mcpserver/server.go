package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Config is what a Server needs. Engine, Records, Environment and Logger are required.
type Config struct {
	Engine      Engine
	Records     Records
	Environment Environment
	Logger      *slog.Logger
	Version     string
	// Principal is in whose name the calls of [Server.Serve] are made; empty means
	// [execution.Local]. Over HTTP each request has a caller of its own.
	Principal execution.Principal
	// Languages are those that execute says it runs; empty means Python alone.
	Languages []execution.Language
	// Toolbox tells of the tools of other servers; nil where none are configured.
	Toolbox Toolbox
	// Snippets are the scripts that the operator saved; nil for none.
	Snippets Snippets
	// Agent solves tasks for run_agent; nil where no model is configured.
	Agent Agent
	// OwnSourceLimits tells that the gear bounds the source itself, so that the profile
	// code-mode does not.
	OwnSourceLimits bool
	// Compat names the profiles whose tools are added, see [Profiles].
	Compat []string
	// Extension adds what is not Gearbox's own; nil for nothing.
	Extension Extension
	// Observer is told what came of calls; nil for nobody.
	Observer Observer
	// Visible writes a line so that whoever reads it sees all that is in it; nil leaves
	// lines as they are.
	Visible func(string) string
	// ApprovalPage is where the operator's own front end lets a person decide, for clients
	// that can open a page: the id of the operation is added to its query. The page has to
	// ask who comes. Nil if there is none.
	ApprovalPage *url.URL
}

// Extension adds to what each caller is offered: what a conformance suite looks for.
type Extension interface {
	Options(*mcp.ServerOptions)
	Register(*mcp.Server)
}

// Server answers MCP clients. It is safe for concurrent use and serves any
// number of sessions.
type Server struct {
	engine      Engine
	records     Records
	visible     func(string) string
	page        *url.URL
	environment Environment
	toolbox     Toolbox
	snippets    Snippets
	agent       Agent
	// ownSourceLimits tells that the gear bounds the source itself.
	ownSourceLimits bool
	log             *slog.Logger
	version         string
	languages       []execution.Language
	profiles        []func(*service) tool
	extension       Extension
	observer        Observer
	local           *service // whom Serve answers
	services        services // whom HTTPHandler answers
}

const instructions = `Gearbox runs code in a sandbox. Send it with execute: the last expression's value is returned, as in a notebook, and every call starts from a fresh interpreter in an empty /workspace.
A refusal names the line, what was refused and what to change. When an answer says "running", call get_operation with its operation_id. When it says "pending_approval", tell your user, who alone can decide, and go on.`

// New makes a Server. The error names what is wrong with the configuration.
func New(c Config) (*Server, error) {
	if c.Engine == nil || c.Records == nil || c.Environment == nil || c.Logger == nil {
		return nil, errors.New("mcpserver: engine, records, environment and logger are required")
	}
	s := &Server{engine: c.Engine, records: c.Records, visible: c.Visible, page: c.ApprovalPage, environment: c.Environment, toolbox: c.Toolbox, agent: c.Agent, snippets: c.Snippets, ownSourceLimits: c.OwnSourceLimits, log: c.Logger, version: c.Version, languages: c.Languages, extension: c.Extension, observer: c.Observer}
	if s.observer == nil {
		s.observer = unobserved{}
	}
	if s.visible == nil {
		s.visible = func(line string) string { return line }
	}
	if len(s.languages) == 0 {
		s.languages = []execution.Language{execution.Python}
	}
	for _, name := range c.Compat {
		p, err := profile(name)
		if err != nil {
			return nil, err
		}
		s.profiles = append(s.profiles, p)
	}
	var err error
	s.local, err = s.serviceFor(execution.Caller{Principal: cmp.Or(c.Principal, execution.Local)})
	return s, err
}

// Transport carries one session, see [Stdio]. The name spares those who only
// pass it on the import of the SDK.
type Transport = mcp.Transport

// Serve answers one client until it goes away or ctx ends; neither is an error.
func (s *Server) Serve(ctx context.Context, t Transport) error {
	session, err := s.local.mcp.Connect(ctx, t, nil)
	if err == nil {
		err = follow(ctx, session)
		s.local.watching.leave(func(one *mcp.ServerSession) bool { return one == session })
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	for _, gone := range []error{io.EOF, io.ErrClosedPipe, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return nil
		}
	}
	return fmt.Errorf("serve MCP: %w", err)
}

// follow waits for the end of a session, which it brings about when ctx ends.
func follow(ctx context.Context, session *mcp.ServerSession) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = session.Close() // its end is what is waited for
	})
	err := session.Wait()
	if !stop() {
		<-closed
	}
	return err
}

// warningsOnly keeps the SDK's account of each session's coming and going out of the log.
type warningsOnly struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h warningsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements [slog.Handler].
func (h warningsOnly) WithAttrs(a []slog.Attr) slog.Handler {
	return warningsOnly{h.Handler.WithAttrs(a)}
}

// WithGroup implements [slog.Handler].
func (h warningsOnly) WithGroup(name string) slog.Handler {
	return warningsOnly{h.Handler.WithGroup(name)}
}
