package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver/tasks"
)

// service is the server as one caller sees it. Whose calls they are, what it lists
// and what it takes are fixed when it is made, so that nothing in a request can
// change them.
type service struct {
	*Server

	caller execution.Caller
	mcp    *mcp.Server
	over   *overHTTP
	named  namedCalls
	left   leaving

	watching *subscriptions
	offers   offers
}

// serviceFor makes the service of a caller.
func (s *Server) serviceFor(c execution.Caller) (*service, error) {
	sv := &service{Server: s, caller: c}
	tools, err := sv.offered()
	if err != nil {
		return nil, err
	}
	options := &mcp.ServerOptions{
		Instructions: sv.instructions(),
		Logger:       slog.New(warningsOnly{s.log.Handler()}),
		// Both lists never change while the server lives. Logging is
		// deprecated, and some hosts hid every tool of a server that
		// advertised completions (anthropics/claude-code#21626).
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
	}
	// What is offered depends on who asks, and what is read is the caller's own.
	options.SetCacheable = func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }
	if s.extension != nil {
		s.extension.Options(options)
	}
	tasks.Announce(options.Capabilities)
	sv.subscribing(options)
	sv.mcp = mcp.NewServer(&mcp.Implementation{Name: "gearbox", Title: "Gearbox", Version: s.version}, options)
	order := make(map[string]int, len(tools))
	for i, t := range tools {
		order[t.definition.Name] = i
		sv.mcp.AddTool(t.definition, sv.guard(t))
	}
	sv.mcp.AddReceivingMiddleware(inOrder(order))
	sv.addResources()
	sv.addOperationResource()
	sv.addToolResources()
	sv.watching = sv.subscriptionsOf()
	if s.extension != nil {
		s.extension.Register(sv.mcp)
	}
	if err := tasks.Extend(sv.mcp, sv.tasks()); err != nil {
		return nil, fmt.Errorf("extend the protocol by tasks: %w", err)
	}
	return sv, nil
}

// instructions are what a model is told at the start.
func (s *service) instructions() string {
	if s.toolbox == nil || !s.caller.MayCall(searchToolsName) {
		return instructions
	}
	return instructions + "\n" + s.toolbox.Instructions()
}

// tasks are the caller's operations, and what an extension has beside them.
func (s *service) tasks() tasks.Book {
	own := operationTasks{s}
	if x, ok := s.extension.(interface{ Tasks() tasks.Book }); ok {
		return tasks.Join(own, x.Tasks())
	}
	return own
}

// offered are the tools that the caller may call.
func (s *service) offered() ([]tool, error) {
	languages := s.accepted()
	tools := s.defaultTools(languages)
	if s.toolbox != nil {
		tools = append(tools, s.toolboxTools(s.toolbox.Details())...)
	}
	if s.snippets != nil {
		tools = append(tools, s.snippetTools(languages)...)
	}
	if slices.Contains(languages, execution.Python) { // the others know no other language
		if s.agent != nil {
			tools = append(tools, s.runAgentTool())
		}
		for _, p := range s.profiles {
			tools = append(tools, p(s))
		}
	}
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		if names[t.definition.Name] {
			return nil, fmt.Errorf("compatibility profiles: the tool %s would be added twice", t.definition.Name)
		}
		names[t.definition.Name] = true
	}
	return slices.DeleteFunc(tools, func(t tool) bool { return !s.caller.MayCall(t.definition.Name) }), nil
}

// accepted are the languages in which the caller's code may be.
func (s *service) accepted() []execution.Language {
	return slices.DeleteFunc(slices.Clone(s.languages), func(l execution.Language) bool { return !s.caller.MayWrite(l) })
}

// tool is a tool with what it does.
type tool struct {
	definition *mcp.Tool
	handle     func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

// guard turns whatever a handler does wrong into an answer, and writes the line
// that the log has for each call.
func (s *service) guard(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		start := time.Now()
		ctx = context.WithValue(ctx, clientKey{}, client(req))
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

// clientKey is where the context of a call has the client.
type clientKey struct{}

// calling is the client whose call a context is of.
func calling(ctx context.Context) execution.Client {
	c, _ := ctx.Value(clientKey{}).(execution.Client)
	return c
}

// failure answers an error. Only what a caller can mend is shown to it.
func (s *service) failure(ctx context.Context, err error) *mcp.CallToolResult {
	return s.answer(s.settled(ctx, "", execution.Result{}, err))
}

// logCall writes no argument and no output: they may hold secrets.
func (s *service) logCall(ctx context.Context, name string, res *mcp.CallToolResult, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("tool", name),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Bool("is_error", res.IsError),
	}
	if r, ok := res.StructuredContent.(execution.Result); ok {
		attrs = append(attrs, slog.String("operation_id", string(r.OperationID)), slog.String("status", string(r.Status)))
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "tool call", attrs...)
	s.observer.ToolCall(name, res.IsError, took)
}

func (s *service) logFailure(ctx context.Context, id execution.ID, err error) {
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
				slices.SortStableFunc(list.Tools, func(a, b *mcp.Tool) int { return place(order, a) - place(order, b) })
			}
			return res, err
		}
	}
}

// place is where a tool stands in a list: those of an extension behind all others.
func place(order map[string]int, t *mcp.Tool) int {
	if i, ok := order[t.Name]; ok {
		return i
	}
	return len(order)
}
