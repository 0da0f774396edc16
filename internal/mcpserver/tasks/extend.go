package tasks

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// since is the first protocol version with the extension.
const since = "2026-07-28"

// namespace is how the names of the methods begin.
const namespace = "tasks/"

// nameHeader repeats the id of the task over HTTP, so that requests can be routed by it.
const nameHeader = "Mcp-Name"

// Announce adds the extension to what a server says it has.
func Announce(c *mcp.ServerCapabilities) { c.AddExtension(Extension, nil) }

// Extend has the server answer about the tasks of a book, and lets its tools make tasks
// with [Become].
func Extend(s *mcp.Server, b Book) error {
	err := mcp.AddReceivingCustomMethod(s, namespace+"get", func(ctx context.Context, _ *mcp.ServerSession, p *params) (*told, error) {
		t, err := b.Task(ctx, p.TaskID)
		if err != nil {
			return nil, outward(err)
		}
		return tell(t), nil
	})
	if err != nil {
		return err
	}
	for name, change := range map[string]func(context.Context, *params) error{
		"update": func(ctx context.Context, p *params) error { return b.Update(ctx, p.TaskID, p.InputResponses) },
		"cancel": func(ctx context.Context, p *params) error { return b.Cancel(ctx, p.TaskID) },
	} {
		err := mcp.AddReceivingCustomMethod(s, namespace+name, func(ctx context.Context, _ *mcp.ServerSession, p *params) (*acknowledged, error) {
			if err := change(ctx, p); err != nil {
				return nil, outward(err)
			}
			return &acknowledged{ResultType: typeComplete}, nil
		})
		if err != nil {
			return err
		}
	}
	s.AddReceivingMiddleware(offer)
	return nil
}

// offer lets through what comes from clients that know tasks, and answers with the task
// that a call has become.
func offer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch {
		case strings.HasPrefix(method, namespace):
			if err := admit(method, req); err != nil {
				return nil, err
			}
		case method == "tools/call" && declared(req):
			return call(ctx, next, method, req)
		}
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.InitializeResult); ok && err == nil && r.Capabilities != nil {
			delete(r.Capabilities.Extensions, Extension) // the versions with a handshake do not have it
		}
		return res, err
	}
}

// admit refuses a request about a task that is not as the extension wants it.
func admit(method string, req mcp.Request) error {
	if v, ok := req.(interface{ ProtocolVersion() string }); !ok || v.ProtocolVersion() < since {
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " needs the protocol version " + since}
	}
	if !declared(req) {
		return Required()
	}
	p, _ := req.GetParams().(*params)
	if p == nil || p.TaskID == "" {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "taskId is required"}
	}
	if x := req.GetExtra(); x != nil && x.Header != nil && strings.TrimSpace(x.Header.Get(nameHeader)) != p.TaskID {
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "the header " + nameHeader + " is not the taskId"}
	}
	return nil
}

// declared reports whether the client knows tasks, and said so with this request.
func declared(req mcp.Request) bool {
	r, ok := req.(interface {
		ProtocolVersion() string
		ClientCapabilities() *mcp.ClientCapabilities
	})
	if !ok || r.ProtocolVersion() < since {
		return false
	}
	c := r.ClientCapabilities()
	return c != nil && c.Extensions[Extension] != nil
}

// offered is where a call that may become a task says that it has.
type offered struct{ task *Task }

type offeredKey struct{}

func call(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	o := &offered{}
	res, err := next(context.WithValue(ctx, offeredKey{}, o), method, req)
	if err != nil || o.task == nil {
		return res, err
	}
	return begun(*o.task), nil
}

// Wanted reports whether the call that ctx belongs to may become a task.
func Wanted(ctx context.Context) bool {
	_, ok := ctx.Value(offeredKey{}).(*offered)
	return ok
}

// Become has the call that ctx belongs to answered with a task instead of its result. The
// handler of the tool calls it, before it returns, and only if the task is [Wanted].
func Become(ctx context.Context, t Task) {
	if o, ok := ctx.Value(offeredKey{}).(*offered); ok {
		o.task = &t
	}
}
