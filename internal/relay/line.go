package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// drainTime is how long calls may go on at a server that takes no new ones: more than a
// Gearbox that stops gives them.
const drainTime = 30 * time.Second

// line is a server that was reached, until it is found to be away. What is under way
// then may still end well: a server that stops lets its calls end first.
type line struct {
	*remote
	born time.Time
	// ctx ends when nothing that is under way can end well any more.
	ctx context.Context //nolint:containedctx // it is the state of this value
	cut context.CancelCauseFunc

	mu      sync.Mutex // guards what follows, and is held while a session is made
	session *session
}

func newLine(ctx context.Context, r *remote) *line {
	l := &line{remote: r, born: time.Now()}
	l.ctx, l.cut = context.WithCancelCause(ctx)
	return l
}

// within is a context that ends with either.
func (l *line) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// drain ends what is under way after a while.
func (l *line) drain(why error) {
	if l.ctx.Err() == nil {
		t := time.AfterFunc(drainTime, func() { l.cut(why) })
		context.AfterFunc(l.ctx, func() { t.Stop() })
	}
}

// current is the session, nil before there is one.
func (l *line) current() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// open makes a session, with the client's own parameters. old is the one that the
// server has forgotten; one that was made meanwhile is taken instead.
func (l *line) open(ctx context.Context, params json.RawMessage, old *session) (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil && l.session != old {
		return l.session, nil
	}
	result, h, err := l.ask(ctx, nil, &jsonrpc.Request{ID: ownID("initialize"), Method: "initialize", Params: params})
	if err != nil {
		return nil, err
	}
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(result, &r); err != nil || r.ProtocolVersion == "" {
		return nil, fmt.Errorf("the server's answer to initialize names no protocol version")
	}
	s := &session{id: h.Get(sessionHeader), version: r.ProtocolVersion, result: result}
	ctx, stop := context.WithTimeoutCause(ctx, smallTime, errSilent)
	defer stop()
	if _, err := l.post(ctx, s, &jsonrpc.Request{Method: "notifications/initialized"}, "", nil); err != nil {
		return nil, err
	}
	l.session = s
	return s, nil
}

// leave ends the session at the server. What was submitted in it goes on.
func (l *line) leave(ctx context.Context) error {
	s := l.current()
	if s == nil || s.id == "" {
		return nil
	}
	return l.end(ctx, func(h http.Header) { s.describe(h) })
}

// ownID is the id of a call of our own. Clients count theirs.
func ownID(name string) jsonrpc.ID {
	id, err := jsonrpc.MakeID("gearbox connect: " + name)
	if err != nil {
		panic(err) // a string always is one
	}
	return id
}
