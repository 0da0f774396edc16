package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// session is one session with a server.
type session struct {
	spec   Spec
	opts   *Options
	link   link
	client *mcp.ClientSession
	pages  map[string]page // as they came last; for the one that lists
	// life ends what is under way when the session is closed.
	life context.Context //nolint:containedctx // it is the state of this value
	end  context.CancelFunc
	// gone is closed when the session has ended, and why is then said.
	gone chan struct{}
	why  string
	// changed has one element when the server says that its tools have changed.
	changed chan struct{}

	tokens   atomic.Int64
	mu       sync.Mutex // guards progress
	progress map[string]func(Progress)
}

// Progress is what a server says of a call that is under way.
type Progress struct {
	Done, Total float64 // Total is 0 if it is not known
	Message     string
}

type progressKey struct{}

// WithProgress has each notification of progress of a call that is made with the context
// handed to a function, which should return soon.
func WithProgress(ctx context.Context, to func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, to)
}

// errStartup says that a server did not take a session up in time.
var errStartup = errors.New("it did not answer in time")

// open begins a session over a link, which it cuts if that fails.
func open(ctx context.Context, s Spec, o *Options, l link) (*session, listing, error) {
	n := &session{
		spec: s, opts: o, link: l, pages: map[string]page{},
		gone: make(chan struct{}), changed: make(chan struct{}, 1), progress: map[string]func(Progress){},
	}
	n.life, n.end = context.WithCancel(context.Background())
	begun := make(chan error, 1)
	var tools listing
	go func() {
		var err error
		n.client, err = n.newClient().Connect(ctx, l, &mcp.ClientSessionOptions{ProtocolVersion: l.version()})
		if err == nil {
			tools, err = n.list(ctx)
		}
		begun <- err
	}()
	var err error
	select {
	case err = <-begun:
		if err == nil {
			return n, tools, nil
		}
		l.cut()
	case <-ctx.Done():
		l.cut() // the SDK waits for some things without the context
		<-begun
	}
	n.end()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, listing{}, err
}

func (n *session) newClient() *mcp.Client {
	options := &mcp.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler), // its lines hold what servers send
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case n.changed <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: n.progressed,
	}
	if n.opts.Elicit != nil {
		options.ElicitationHandler = n.elicit
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "gearbox", Version: n.opts.Version}, options)
	c.AddReceivingMiddleware(n.decline)
	return c
}

// codeDeclined is the code that the protocol's own example has for a request that the
// user rejects. That for an unknown method the SDK would put into words of its own.
const codeDeclined = -1

// decline refuses what a server asks of us that we do not offer, in words.
func (n *session) decline(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, q mcp.Request) (mcp.Result, error) {
		offer := ""
		switch method {
		case "sampling/createMessage":
			offer = "a model to sample"
		case "roots/list":
			offer = "folders of its own (roots)"
		case "elicitation/create":
			if n.opts.Elicit == nil {
				offer = "a person to ask (elicitation)"
			}
		}
		if offer != "" {
			return nil, &jsonrpc.Error{Code: codeDeclined, Message: "declined: this client offers no server " + offer}
		}
		return next(ctx, method, q)
	}
}

func (n *session) progressed(_ context.Context, q *mcp.ProgressNotificationClientRequest) {
	token, ok := q.Params.ProgressToken.(string)
	if !ok {
		return
	}
	n.mu.Lock()
	to := n.progress[token]
	n.mu.Unlock()
	if to != nil {
		to(Progress{Done: q.Params.Progress, Total: q.Params.Total, Message: q.Params.Message})
	}
}

// call calls a tool.
func (n *session) call(ctx context.Context, name string, arguments json.RawMessage) (tool.Result, error) {
	p := &mcp.CallToolParams{Name: name, Arguments: arguments}
	if to, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		token := "call-" + strconv.FormatInt(n.tokens.Add(1), 10)
		p.Meta = mcp.Meta{}
		p.SetProgressToken(token)
		defer n.listen(token, to)()
	}
	ctx, stop := n.alive(ctx)
	defer stop()
	ctx, a := expecting(ctx)
	_, err := n.client.CallTool(ctx, p)
	return n.answered(a, err, result)
}

// errEnded says that the session was closed with a call under way.
var errEnded = errors.New("the session was closed")

// alive is a context that ends with the session, too.
func (n *session) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(n.life, func() { cancel(errEnded) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}

func (n *session) listen(token string, to func(Progress)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress[token] = to
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.progress, token)
	}
}

// read reads a resource.
func (n *session) read(ctx context.Context, uri string) (tool.Result, error) {
	ctx, stop := n.alive(ctx)
	defer stop()
	ctx, a := expecting(ctx)
	r, err := n.client.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if kept, _ := a.raw(n.opts.MaxMessage); err == nil && kept == nil { // it was in the SDK's cache
		raw, err := json.Marshal(r)
		if err != nil {
			return tool.Result{}, fmt.Errorf("read a kept resource: %w", err)
		}
		return contents(raw)
	}
	return n.answered(a, err, contents)
}

// answered reads what came. The SDK's error counts only if nothing came: it knows less of
// what a later version adds than it refuses.
func (n *session) answered(a *answer, err error, read func(json.RawMessage) (tool.Result, error)) (tool.Result, error) {
	raw, refusal := a.raw(n.opts.MaxMessage)
	switch {
	case refusal != nil:
		return tool.Result{}, &ProtocolError{n.spec.Name, refusal.Code, refusal.Message}
	case raw == nil && err == nil:
		return tool.Result{}, io.ErrUnexpectedEOF
	case raw == nil:
		return tool.Result{}, err
	}
	if err != nil && asksBack(raw) {
		return tool.Result{}, &AnswerError{n.spec.Name, "it asks back, and gets no answer: " + err.Error()}
	}
	r, err := read(raw)
	if err != nil {
		return tool.Result{}, &AnswerError{n.spec.Name, err.Error()}
	}
	return r, nil
}

// asksBack reports whether a result is a question (2026-07-28, multi round-trip requests).
func asksBack(raw json.RawMessage) bool {
	var w struct {
		Kind string `json:"resultType"`
	}
	return json.Unmarshal(raw, &w) == nil && w.Kind == "input_required"
}

// abort ends the session with the calls that are under way.
func (n *session) abort() {
	n.end()
	n.close()
}

// close ends the session, in bounded time. One that has ended by itself is not aborted:
// its calls have been told how, which says whether they may have been carried out.
func (n *session) close() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, ok := n.link.(*program); ok {
			n.link.cut() // the SDK waits for calls that are under way
		}
		_ = n.client.Close()
	}()
	select {
	case <-ended:
	case <-n.opts.Clock.After(leaveTime):
	}
	n.link.cut()
	<-ended
}
