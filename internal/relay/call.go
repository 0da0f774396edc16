package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// call is a call of the client that is not answered yet.
type call struct {
	request *jsonrpc.Request
	alone   bool   // it belongs to no session
	key     string // by which the server knows it, if it belongs to none

	ctx    context.Context //nolint:containedctx // it is the state of this value
	giveUp context.CancelCauseFunc
	wrote  chan struct{} // closed when the server has the request
	// after is closed when the client's session stands, which a call in it waits for, and
	// over when the call is answered.
	after    <-chan struct{}
	over     chan struct{}
	passedOn bool // guarded by the relay
	// What follows belongs to the goroutine that makes the call.
	answered  bool
	operation string // that the server has made of it, as far as it has told
}

func newCall(ctx context.Context, q *jsonrpc.Request, after <-chan struct{}) *call {
	c := &call{request: q, alone: standsAlone(q.Params), wrote: make(chan struct{}), after: after, over: make(chan struct{})}
	if c.alone && q.Method == "tools/call" {
		c.key = rand.Text()
	}
	ctx, c.giveUp = context.WithCancelCause(ctx)
	written := sync.OnceFunc(func() { close(c.wrote) })
	c.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { written() }})
	return c
}

// call answers a call of the client, whatever comes.
func (r *Relay) call(ctx context.Context, c *call) {
	defer func() {
		r.mu.Lock()
		delete(r.calls, c.request.ID)
		r.mu.Unlock()
		c.giveUp(nil)
		close(c.over)
	}()
	if !c.alone && !await(ctx, c.after) {
		if errors.Is(context.Cause(ctx), errCancelled) {
			r.refuse(ctx, c, errCancelled.Error())
		}
		return
	}
	if listensForLists(c.request) {
		r.away(ctx, c, "", "")
		return
	}
	l := r.contact.await(ctx)
	switch {
	case c.request.Method == "initialize":
		r.initialize(ctx, c, l)
	case l == nil:
		r.away(ctx, c, "", "")
	default:
		r.mu.Lock()
		c.passedOn = true
		r.mu.Unlock()
		r.forward(ctx, c, l)
	}
}

// answer gives the client the answer to its call.
func (r *Relay) answer(ctx context.Context, c *call, a *jsonrpc.Response) {
	c.answered = true
	r.write(ctx, a)
}

// initialize opens a session with the client's own parameters. The stand-in needs to
// know of it too, and answers if the server does not.
func (r *Relay) initialize(ctx context.Context, c *call, l *line) {
	instead := r.standIn.ask(ctx, c.request)
	if instead == nil {
		return
	}
	if instead.Error == nil {
		r.mu.Lock()
		r.hello = c.request.Params
		r.mu.Unlock()
	}
	if l == nil {
		r.answer(ctx, c, instead)
		return
	}
	s, err := r.open(ctx, l, c.request.Params, nil)
	var said *jsonrpc.Error
	switch {
	case err == nil:
		r.answer(ctx, c, &jsonrpc.Response{ID: c.request.ID, Result: announcing(s.result)})
	case errors.As(err, &said):
		r.answer(ctx, c, &jsonrpc.Response{ID: c.request.ID, Error: said})
	default:
		r.c.Logger.Warn("the server did not answer initialize", "error", err)
		r.contact.suspect(ctx, l)
		r.answer(ctx, c, instead)
	}
}

// announcing adds to what a server says of itself that its list of tools may change: it
// may be replaced by one with another list.
func announcing(result json.RawMessage) json.RawMessage {
	var all, capabilities, tools map[string]json.RawMessage
	if json.Unmarshal(result, &all) != nil || json.Unmarshal(all["capabilities"], &capabilities) != nil || json.Unmarshal(capabilities["tools"], &tools) != nil || tools == nil {
		return result
	}
	tools["listChanged"] = json.RawMessage("true")
	for _, level := range []struct {
		of   map[string]json.RawMessage
		name string
		v    any
	}{{capabilities, "tools", tools}, {all, "capabilities", capabilities}} {
		text, err := json.Marshal(level.v)
		if err != nil {
			return result
		}
		level.of[level.name] = text
	}
	text, err := json.Marshal(all)
	if err != nil {
		return result
	}
	return text
}

// listensForLists reports whether a call waits for changed lists alone. Those are
// changed by this process.
func listensForLists(q *jsonrpc.Request) bool {
	if q.Method != "subscriptions/listen" {
		return false
	}
	var p struct {
		Notifications struct {
			Resources []json.RawMessage `json:"resourceSubscriptions"`
		} `json:"notifications"`
	}
	return json.Unmarshal(q.Params, &p) == nil && len(p.Notifications.Resources) == 0
}

// forward passes a call on to the server.
func (r *Relay) forward(ctx context.Context, c *call, l *line) {
	within, stop := l.within(ctx)
	defer stop()
	var s *session
	if !c.alone {
		var err error
		if s, err = r.within(l); err != nil {
			r.failed(ctx, c, l, err)
			return
		}
	}
	deliver := func(m jsonrpc.Message) { r.deliver(ctx, c, l, s, m) }
	_, err := l.post(within, s, c.request, c.key, deliver)
	if errors.Is(err, errSessionGone) { // it was not looked at
		if s, err = r.again(l, s); err == nil {
			_, err = l.post(within, s, c.request, c.key, deliver)
		}
	}
	if err != nil && !c.answered {
		r.failed(ctx, c, l, err)
	}
}

// within is the client's session at the server, nil when it has begun none. A server that
// was found while the stand-in took the client's initialize has no session yet.
func (r *Relay) within(l *line) (*session, error) {
	if s := l.current(); s != nil {
		return s, nil
	}
	r.mu.Lock()
	hello := r.hello
	r.mu.Unlock()
	if hello == nil {
		return nil, nil //nolint:nilnil // a call without a session is the server's to refuse
	}
	return r.open(l.ctx, l, hello, nil)
}

// deliver passes on what comes in answer to a call.
func (r *Relay) deliver(ctx context.Context, c *call, l *line, s *session, m jsonrpc.Message) {
	a, ok := m.(*jsonrpc.Response)
	switch {
	case !ok:
		c.note(m)
		r.fromServer(l, s, m)
	case a.ID != c.request.ID:
	case c.request.Method == "server/discover" && a.Error == nil:
		r.answer(ctx, c, &jsonrpc.Response{ID: a.ID, Result: announcing(a.Result)})
	default:
		r.answer(ctx, c, a)
	}
}

// operationKey is where a server of ours tells the operation, in _meta of its progress
// notifications, and longestID bounds what is believed to be one.
const (
	operationKey = "gearbox/operation_id"
	longestID    = 200
)

// note takes down which operation the server has made of the call.
func (c *call) note(m jsonrpc.Message) {
	q, ok := m.(*jsonrpc.Request)
	if !ok || q.Method != "notifications/progress" {
		return
	}
	var p struct {
		Meta map[string]any `json:"_meta"`
	}
	if json.Unmarshal(q.Params, &p) != nil {
		return
	}
	if id, ok := p.Meta[operationKey].(string); ok && len(id) <= longestID {
		c.operation = id
	}
}

// failed answers a call that the server did not.
func (r *Relay) failed(ctx context.Context, c *call, l *line, err error) {
	var away *awayError
	var status *statusError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCancelled):
		r.refuse(ctx, c, errCancelled.Error())
	case errors.Is(cause, errEnded):
	case errors.As(err, &away):
		r.contact.suspect(ctx, l)
		if away.sent {
			r.lost(ctx, c, l, err)
		} else {
			r.away(ctx, c, "", "")
		}
	case errors.As(err, &status) && status.refused():
		r.contact.lose(l, status)
		r.away(ctx, c, "", "")
	case errors.As(err, &status) && status.gateway():
		r.contact.suspect(ctx, l)
		r.lost(ctx, c, l, err)
	case errors.As(err, &status) && status.passing():
		r.contact.suspect(ctx, l)
		r.away(ctx, c, busyKey, fmt.Sprintf("code execution is unavailable for now: the Gearbox server at %s answered with %v; try again in %s", l.target.Name, status, inSeconds(busyTime)))
	case errors.As(err, &status):
		r.refuse(ctx, c, fmt.Sprintf("the Gearbox server at %s answered with %v", l.target.Name, status))
	default:
		r.contact.suspect(ctx, l)
		r.lost(ctx, c, l, err)
	}
}

func (r *Relay) refuse(ctx context.Context, c *call, why string) {
	r.answer(ctx, c, &jsonrpc.Response{ID: c.request.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why}})
}

// lost answers a call that may have reached a server which then went away.
func (r *Relay) lost(ctx context.Context, c *call, l *line, err error) {
	r.away(ctx, c, lostKey, fmt.Sprintf("code execution is unavailable for now: the Gearbox server at %s went away while this call was under way (%v). %s", l.target.Name, err, c.advice()))
}

// advice tells what became of a call, as far as that can be known.
func (c *call) advice() string {
	var p struct {
		Arguments struct {
			OperationID string `json:"operation_id"`
		} `json:"arguments"`
	}
	id := c.operation
	if json.Unmarshal(c.request.Params, &p) == nil {
		id = cmp.Or(id, p.Arguments.OperationID)
	}
	if id != "" {
		return fmt.Sprintf("Operations outlive the server: in some seconds ask with get_operation(operation_id=%q) how this one stands.", id)
	}
	return "It may have run, wholly or in part: find out what it changed before you run it again. Its operation_id was not told yet; whoever runs the server finds it with gearbox operations list, and get_operation then tells how it ended."
}

// away answers a call in place of the server. why is said of a tool's call, by key;
// empty for that the server is away.
func (r *Relay) away(ctx context.Context, c *call, key, why string) {
	q := c.request
	switch q.Method {
	case "tools/call":
		if why != "" {
			q = explained(q, key, why)
		}
	case "initialize", "server/discover", "ping", "tools/list", "resources/list", "resources/templates/list", "subscriptions/listen":
	default:
		if why == "" {
			why, _ = r.contact.say()
		}
		r.refuse(ctx, c, why)
		return
	}
	if a := r.standIn.ask(ctx, q); a != nil {
		r.answer(ctx, c, a)
	} else if errors.Is(context.Cause(ctx), errCancelled) {
		r.refuse(ctx, c, errCancelled.Error())
	}
}

// explained is a call that carries what the stand-in says of it.
func explained(q *jsonrpc.Request, key, why string) *jsonrpc.Request {
	var params, meta map[string]json.RawMessage
	if json.Unmarshal(q.Params, &params) != nil || params == nil {
		return q
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	text, err := json.Marshal(why)
	if err != nil {
		return q
	}
	meta[key] = text
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return q
	}
	all, err := json.Marshal(params)
	if err != nil {
		return q
	}
	return &jsonrpc.Request{ID: q.ID, Method: q.Method, Params: all}
}

// tellTime bounds how long a client that gives a call up waits for its server to hear of it.
const tellTime = 2 * time.Second

// cancel passes on that the client gave a call up.
func (r *Relay) cancel(ctx context.Context, q *jsonrpc.Request) {
	id, ok := cancelledID(q)
	r.mu.Lock()
	c := r.calls[id]
	r.mu.Unlock()
	if !ok || c == nil {
		return
	}
	l := r.contact.current()
	if c.alone || l == nil || l.current() == nil {
		if l == nil || c.key == "" {
			c.giveUp(errCancelled)
			return
		}
		r.work.Go(func() {
			defer c.giveUp(errCancelled)
			// The server is told first: a connection that breaks before is an accident to it,
			// after which the run goes on.
			within, stop := context.WithTimeout(ctx, tellTime)
			defer stop()
			_ = l.end(within, func(h http.Header) { h.Set(callHeader, c.key) })
		})
		return
	}
	r.work.Go(func() { // the server has to have the call first
		select {
		case <-c.wrote:
			r.tell(ctx, q)
		case <-c.ctx.Done():
		}
	})
}
