package relay

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// listen reads the stream of a session until that is over. That it breaks is the first
// sign that a server is gone.
func (r *Relay) listen(l *line, s *session) {
	ctx := l.ctx
	b := &backoff.ExponentialBackOff{InitialInterval: firstRetry, RandomizationFactor: 0.5, Multiplier: 1.6, MaxInterval: lastRetry}
	var last string
	for l.current() == s && r.contact.current() == l {
		body, err := l.remote.listen(ctx, s, last)
		switch {
		case errors.Is(err, errNoStream), ctx.Err() != nil:
			return
		case errors.Is(err, errSessionGone):
			r.renew(l, s)
			return
		case err == nil:
			b.Reset()
			at, _ := stream(ctx, body, func(m jsonrpc.Message) bool {
				r.fromServer(l, s, m)
				return true
			})
			if at != "" {
				last = at
			}
		}
		r.contact.suspect(ctx, l)
		select {
		case <-time.After(b.NextBackOff()):
		case <-ctx.Done():
		}
	}
}

// renew makes a session in the place of one that the server has forgotten.
func (r *Relay) renew(l *line, old *session) {
	if _, err := r.again(l, old); err != nil {
		r.c.Logger.Warn("no new session could be made", "error", err)
		r.contact.suspect(l.ctx, l)
	}
}

func (r *Relay) again(l *line, old *session) (*session, error) {
	r.mu.Lock()
	hello := r.hello
	r.mu.Unlock()
	s, err := r.open(l.ctx, l, hello, old)
	if err != nil {
		return nil, err
	}
	r.c.Logger.Info("the server had forgotten the session: made another")
	// Who forgets sessions may have been replaced, or the rights of a token changed.
	r.recheck(l.ctx, l)
	return s, nil
}

// recheck looks whether the tools are still the same.
func (r *Relay) recheck(ctx context.Context, l *line) {
	if err := r.compareTools(ctx, l); err != nil && ctx.Err() == nil {
		r.c.Logger.Warn("whether the tools are the same cannot be found out", "error", err)
	}
}

// question is what a server asked the client.
type question struct {
	session *session
	id      jsonrpc.ID // as the server counts
}

// fromServer passes on what is no answer to a call. Servers count their questions anew
// in each session, so that they get numbers of our own here.
func (r *Relay) fromServer(l *line, s *session, m jsonrpc.Message) {
	q, ok := m.(*jsonrpc.Request)
	if !ok {
		return // an answer that nobody waits for
	}
	switch {
	case q.IsCall():
		q = &jsonrpc.Request{ID: r.ask(question{s, q.ID}), Method: q.Method, Params: q.Params}
	case q.Method == "notifications/cancelled":
		if q = r.withdrawn(s, q); q == nil {
			return
		}
	}
	r.write(l.ctx, q)
}

func (r *Relay) ask(q question) jsonrpc.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.questions++
	id := ownID("question " + strconv.Itoa(r.questions))
	r.asked[id] = q
	return id
}

func (r *Relay) takeQuestion(id jsonrpc.ID) (question, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, ok := r.asked[id]
	delete(r.asked, id)
	return q, ok
}

// withdrawn translates the notice that a question is no longer asked; nil for one that
// is not known.
func (r *Relay) withdrawn(s *session, q *jsonrpc.Request) *jsonrpc.Request {
	id, ok := cancelledID(q)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for ours, asked := range r.asked {
		if asked.session != s || asked.id != id {
			continue
		}
		delete(r.asked, ours)
		return cancellation(ours)
	}
	return nil
}

// withdrawAllBut tells the client that it is asked no more what was asked in other
// sessions.
func (r *Relay) withdrawAllBut(ctx context.Context, s *session) {
	var gone []jsonrpc.ID
	r.mu.Lock()
	for ours, asked := range r.asked {
		if asked.session != s {
			gone = append(gone, ours)
			delete(r.asked, ours)
		}
	}
	r.mu.Unlock()
	for _, id := range gone {
		r.write(ctx, cancellation(id))
	}
}

func cancellation(id jsonrpc.ID) *jsonrpc.Request {
	params, err := json.Marshal(map[string]any{"requestId": id.Raw()})
	if err != nil {
		panic(err) // it is a number or a text
	}
	return &jsonrpc.Request{Method: "notifications/cancelled", Params: params}
}

// cancelledID is the call that a notice of cancellation names.
func cancelledID(q *jsonrpc.Request) (id jsonrpc.ID, ok bool) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(q.Params, &p) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	return id, err == nil && id.IsValid()
}
