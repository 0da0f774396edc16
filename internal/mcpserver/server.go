package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Config is what a Server needs. Engine, Environment and Logger are required.
type Config struct {
	Engine      Engine
	Environment Environment
	Logger      *slog.Logger
	Version     string
	// Principal is in whose name the calls are made; empty means [execution.Local].
	Principal execution.Principal
	// Languages are those that execute says it runs; empty means Python alone.
	Languages []execution.Language
	// Compat names the profiles whose tools are added, see [Profiles].
	Compat []string
}

// Server answers MCP clients. It is safe for concurrent use and serves any
// number of sessions.
type Server struct {
	engine      Engine
	environment Environment
	log         *slog.Logger
	principal   execution.Principal
	mcp         *mcp.Server
}

const instructions = `Gearbox runs code in a sandbox. Send it with execute: the last expression's value is returned, as in a notebook, and every call starts from a fresh interpreter in an empty /workspace.
A refusal names the line, what was refused and what to change. When an answer says "running", call get_operation with its operation_id.`

// New makes a Server. The error names what is wrong with the configuration.
func New(c Config) (*Server, error) {
	if c.Engine == nil || c.Environment == nil || c.Logger == nil {
		return nil, errors.New("mcpserver: engine, environment and logger are required")
	}
	s := &Server{engine: c.Engine, environment: c.Environment, log: c.Logger, principal: c.Principal}
	if s.principal == "" {
		s.principal = execution.Local
	}
	tools := s.tools(c.Languages)
	for _, name := range c.Compat {
		p, err := profile(name)
		if err != nil {
			return nil, err
		}
		tools = append(tools, p(s))
	}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "gearbox", Title: "Gearbox", Version: c.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Logger:       slog.New(warningsOnly{c.Logger.Handler()}),
			// Both lists never change while the server lives. Logging is
			// deprecated, and some hosts hid every tool of a server that
			// advertised completions (anthropics/claude-code#21626).
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
		})
	order := make(map[string]int, len(tools))
	for i, t := range tools {
		if _, twice := order[t.definition.Name]; twice {
			return nil, fmt.Errorf("compatibility profiles: the tool %s would be added twice", t.definition.Name)
		}
		order[t.definition.Name] = i
		s.mcp.AddTool(t.definition, s.guard(t))
	}
	s.mcp.AddReceivingMiddleware(inOrder(order))
	s.addResources()
	return s, nil
}

// Transport carries one session, see [Stdio]. The name spares those who only
// pass it on the import of the SDK.
type Transport = mcp.Transport

// Serve answers one client until it goes away or ctx ends; neither is an error.
func (s *Server) Serve(ctx context.Context, t Transport) error {
	err := s.mcp.Run(ctx, t)
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

// tool is a tool with what it does.
type tool struct {
	definition *mcp.Tool
	handle     func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

// guard turns whatever a handler does wrong into an answer, and writes the line
// that the log has for each call.
func (s *Server) guard(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		start := time.Now()
		defer func() {
			if p := recover(); p != nil {
				res = s.failure(ctx, fmt.Errorf("panic in %s: %v\n%s", t.definition.Name, p, debug.Stack()))
			}
			s.logCall(ctx, t.definition.Name, res, time.Since(start))
		}()
		res, err := t.handle(ctx, req)
		if err != nil {
			res = s.failure(ctx, err)
		}
		return res, nil
	}
}

// failure answers an error. Only what a caller can mend is shown to it.
func (s *Server) failure(ctx context.Context, err error) *mcp.CallToolResult {
	return answer(s.settled(ctx, "", execution.Result{}, err))
}

// logCall writes no argument and no output: they may hold secrets.
func (s *Server) logCall(ctx context.Context, name string, res *mcp.CallToolResult, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("tool", name),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Bool("is_error", res.IsError),
	}
	if r, ok := res.StructuredContent.(execution.Result); ok {
		attrs = append(attrs, slog.String("operation_id", string(r.OperationID)), slog.String("status", string(r.Status)))
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "tool call", attrs...)
}

func (s *Server) logFailure(ctx context.Context, id execution.ID, err error) {
	s.log.LogAttrs(ctx, slog.LevelError, "a call failed for a reason of our own",
		slog.String("operation_id", string(id)), slog.String("error", err.Error()))
}

// inOrder lists the tools in the order in which they were defined, the same on
// every call: hosts keep the list in a prompt cache, and models favour what
// comes first. The SDK lists by name.
func inOrder(order map[string]int) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
				slices.SortFunc(list.Tools, func(a, b *mcp.Tool) int { return order[a.Name] - order[b.Name] })
			}
			return res, err
		}
	}
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
