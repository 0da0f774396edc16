package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reach tries once to reach the server, and makes it ready for the client: with a
// session, if it had one, and with the tools that the server has now.
func (r *Relay) reach(ctx context.Context) (*line, error) {
	t, err := r.c.Find(ctx)
	if err != nil {
		return nil, err
	}
	r.contact.trying(t.Name)
	token, err := r.c.Token()
	if err != nil {
		return nil, err
	}
	l := newLine(ctx, newRemote(t, r.c.Roots, token))
	if err := r.prepare(ctx, l); err != nil {
		l.cut(err)
		l.close()
		return nil, err
	}
	return l, nil
}

func (r *Relay) prepare(ctx context.Context, l *line) error {
	// An older server knows no discovery, and says so: it is there.
	if _, _, err := l.ask(ctx, nil, r.own("server/discover")); err != nil && !spoken(err) {
		return err
	}
	if err := r.compareTools(ctx, l); err != nil {
		return err
	}
	if _, err := l.alive(ctx); err != nil { // the pulse begins
		return err
	}
	r.mu.Lock()
	hello := r.hello
	r.mu.Unlock()
	if hello == nil {
		return nil
	}
	_, err := r.open(ctx, l, hello, nil)
	return err
}

// spoken reports whether an error is an answer in the protocol.
func spoken(err error) bool {
	var said *jsonrpc.Error
	return errors.As(err, &said)
}

// own is a request of our own, which stands alone.
func (r *Relay) own(method string) *jsonrpc.Request {
	params, err := json.Marshal(map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    sessionless,
		"io.modelcontextprotocol/clientInfo":         mcp.Implementation{Name: "gearbox connect", Version: r.c.Version},
		"io.modelcontextprotocol/clientCapabilities": struct{}{},
	}})
	if err != nil {
		panic(err) // these are texts
	}
	return &jsonrpc.Request{ID: ownID(method), Method: method, Params: params}
}

// compareTools takes over the server's list of tools, and tells the client if it is
// another one than it was.
func (r *Relay) compareTools(ctx context.Context, l *line) error {
	result, _, err := l.ask(ctx, nil, r.own("tools/list"))
	if spoken(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var list struct {
		Tools []*mcp.Tool `json:"tools"`
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return fmt.Errorf("the server's list of tools: %w", err)
	}
	changed, err := r.standIn.replace(list.Tools)
	if err != nil {
		return err
	}
	if changed {
		r.standIn.announce(r.contact.say)
	}
	return nil
}

// open makes a session at the server, see [line.open]. What was asked in an older one
// is asked no more.
func (r *Relay) open(ctx context.Context, l *line, hello json.RawMessage, old *session) (*session, error) {
	s, err := l.open(ctx, hello, old)
	if err != nil {
		return nil, err
	}
	r.withdrawAllBut(ctx, s)
	r.listenTo(l, s)
	return s, nil
}

// listenTo opens the stream on which a server says what is no answer, once the client is
// ready for that. There is none without a server and a session.
func (r *Relay) listenTo(l *line, s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == nil || !r.ready || r.listening[s] {
		return
	}
	r.listening[s] = true
	r.work.Go(func() {
		r.listen(l, s)
		r.mu.Lock()
		delete(r.listening, s)
		r.mu.Unlock()
	})
}
