package relay

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tmaxmax/go-sse"
)

const (
	// maxMessage bounds one message of the server, in bytes.
	maxMessage = 80 << 20
	// maxReason bounds what is read of an answer that is no message.
	maxReason = 64 << 10
	// smallTime bounds an exchange that needs no program to run.
	smallTime = 5 * time.Second
)

// remote is a server by its address: it knows nothing of whether that answers.
type remote struct {
	target Target
	http   *http.Client
	// pulse is a client of its own for the questions whether the server is alive: as
	// long as its one connection lasts, so does the server.
	pulse *http.Client
	token string
}

func newRemote(t Target, roots *x509.CertPool, token string) *remote {
	return &remote{target: t, http: t.client(roots), pulse: t.client(roots), token: token}
}

// close lets go of connections that rest.
func (r *remote) close() {
	r.http.CloseIdleConnections()
	r.pulse.CloseIdleConnections()
}

// session is what one initialize made. Its result is what the client was told.
type session struct {
	id, version string
	result      json.RawMessage
}

func (s *session) describe(h http.Header) {
	if s == nil {
		return
	}
	if s.id != "" {
		h.Set(sessionHeader, s.id)
	}
	h.Set(versionHeader, s.version)
}

// request prepares an exchange at the endpoint.
func (r *remote) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, method, r.target.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if r.token != "" {
		q.Header.Set("Authorization", "Bearer "+r.token)
	}
	return q, nil
}

// do sends a request. Whoever gets an answer closes it.
func (r *remote) do(q *http.Request) (*http.Response, error) { return send(r.http, q) }

func send(by *http.Client, q *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	a, err := by.Do(q.WithContext(httptrace.WithClientTrace(q.Context(), trace)))
	if err != nil {
		if cause := context.Cause(q.Context()); cause != nil {
			err = cause
		}
		if u := new(url.Error); errors.As(err, &u) {
			err = u.Err // where the server is stands beside it
		}
		return nil, &awayError{sent.Load(), err}
	}
	return a, nil
}

// post sends a message. What comes in answer to a call goes to deliver, and post
// returns when the response itself was delivered; its header tells the session.
func (r *remote) post(ctx context.Context, s *session, m jsonrpc.Message, key string, deliver func(jsonrpc.Message)) (http.Header, error) {
	body, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return nil, err
	}
	q, err := r.request(ctx, http.MethodPost, body)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		q.Header.Set(callHeader, key)
	}
	s.describe(q.Header)
	describe(q.Header, m)
	a, err := r.do(q)
	if err != nil {
		return nil, err
	}
	call, ok := m.(*jsonrpc.Request)
	ok = ok && call.IsCall()
	if a.StatusCode >= http.StatusMultipleChoices {
		return nil, r.failed(a, s, call, deliver)
	}
	if !ok {
		return a.Header, a.Body.Close()
	}
	return a.Header, r.answer(ctx, a, s, call.ID, deliver)
}

// callHeader names a call, so that the server goes on with it when the connection
// breaks, and ends it when it is told to by this name.
const callHeader = "Gearbox-Call"

// failed reads an answer whose status is none of success.
func (r *remote) failed(a *http.Response, s *session, call *jsonrpc.Request, deliver func(jsonrpc.Message)) error {
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxReason))
	if err != nil {
		return &awayError{true, err}
	}
	if a.StatusCode == http.StatusNotFound && s != nil && s.id != "" {
		return errSessionGone
	}
	if m, err := jsonrpc.DecodeMessage(text); err == nil && call != nil {
		if res, ok := m.(*jsonrpc.Response); ok && res.Error != nil && (res.ID == call.ID || !res.ID.IsValid()) {
			deliver(&jsonrpc.Response{ID: call.ID, Error: res.Error})
			return nil
		}
	}
	return &statusError{a.StatusCode, reason(a, text)}
}

// reason is what an answer says of itself.
func reason(a *http.Response, text []byte) string {
	if to := a.Header.Get("Location"); to != "" && a.StatusCode < http.StatusBadRequest {
		return "the server is elsewhere, at " + to
	}
	var ours struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &ours) == nil && ours.Error.Message != "" {
		return ours.Error.Message
	}
	if kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); kind == "text/plain" {
		return string(bytes.TrimSpace(text[:min(len(text), 500)]))
	}
	return ""
}

// answer reads the answer to a call.
func (r *remote) answer(ctx context.Context, a *http.Response, s *session, id jsonrpc.ID, deliver func(jsonrpc.Message)) error {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return whole(a, deliver)
	case "text/event-stream":
		return r.events(ctx, a.Body, s, id, deliver)
	}
	_ = a.Body.Close()
	return &statusError{a.StatusCode, fmt.Sprintf("the answer is of type %q, which is none of MCP", kind)}
}

// whole reads an answer that is one message.
func whole(a *http.Response, deliver func(jsonrpc.Message)) error {
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxMessage+1))
	if err != nil {
		return &awayError{true, err}
	}
	if len(text) > maxMessage {
		return fmt.Errorf("the answer is longer than %d bytes", maxMessage)
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	deliver(m)
	return nil
}

// events reads a stream up to the response to a call. A stream that breaks before is
// resumed where it broke, if the server numbers its events.
func (r *remote) events(ctx context.Context, body io.ReadCloser, s *session, id jsonrpc.ID, deliver func(jsonrpc.Message)) error {
	var last string
	for {
		done := false
		at, err := stream(ctx, body, func(m jsonrpc.Message) bool {
			deliver(m)
			res, ok := m.(*jsonrpc.Response)
			done = ok && res.ID == id
			return !done
		})
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return &awayError{true, context.Cause(ctx)}
		case s == nil || at == "" || at == last:
			return &awayError{true, err}
		}
		last = at
		if body, err = r.listen(ctx, s, at); err != nil {
			return &awayError{true, err}
		}
	}
}

// errCut says that a stream ended before what it was for.
var errCut = errors.New("the connection was closed before the answer came")

// stream hands the messages of a stream to each until that says false or the stream
// ends, and tells the number of the last event. The error says how it ended.
func stream(ctx context.Context, body io.ReadCloser, each func(jsonrpc.Message) bool) (last string, err error) {
	defer func() { _ = body.Close() }()
	for e, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: maxMessage}) {
		if err != nil {
			return last, err
		}
		last = e.LastEventID
		if e.Data == "" || e.Type != "" && e.Type != "message" {
			continue
		}
		m, err := jsonrpc.DecodeMessage([]byte(e.Data))
		if err != nil {
			return "", fmt.Errorf("read an event: %w", err)
		}
		if !each(m) {
			return last, nil
		}
	}
	if ctx.Err() != nil {
		return last, context.Cause(ctx)
	}
	return last, errCut
}

// listen opens the stream of a session, for what is no answer or from an event on.
func (r *remote) listen(ctx context.Context, s *session, after string) (io.ReadCloser, error) {
	q, err := r.request(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "text/event-stream")
	s.describe(q.Header)
	if after != "" {
		q.Header.Set(eventHeader, after)
	}
	a, err := r.do(q)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); a.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return a.Body, nil
	}
	_ = a.Body.Close()
	switch a.StatusCode {
	case http.StatusNotFound:
		return nil, errSessionGone
	case http.StatusMethodNotAllowed, http.StatusOK:
		return nil, errNoStream
	}
	return nil, &statusError{status: a.StatusCode}
}

// ask makes a call of our own.
func (r *remote) ask(ctx context.Context, s *session, q *jsonrpc.Request) (json.RawMessage, http.Header, error) {
	ctx, stop := context.WithTimeoutCause(ctx, smallTime, errSilent)
	defer stop()
	var res *jsonrpc.Response
	h, err := r.post(ctx, s, q, "", func(m jsonrpc.Message) {
		if a, ok := m.(*jsonrpc.Response); ok && a.ID == q.ID {
			res = a
		}
	})
	switch {
	case err != nil:
		return nil, nil, err
	case res == nil:
		return nil, nil, errCut
	}
	return res.Result, h, res.Error
}

// end ends a session or a call by what the header says. Nobody waits for what comes of
// it for long.
func (r *remote) end(ctx context.Context, describe func(http.Header)) error {
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	q, err := r.request(ctx, http.MethodDelete, nil)
	if err != nil {
		return err
	}
	describe(q.Header)
	a, err := r.do(q)
	if err != nil {
		return err
	}
	return a.Body.Close()
}

// healthTime is how long a server that is alive takes at most to say so.
const healthTime = 3 * time.Second

// alive is nil when something answers, whatever it says. It reports whether a new
// connection was needed for that: then it may be another server than before.
func (r *remote) alive(ctx context.Context) (fresh bool, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, healthTime, errSilent)
	defer stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { fresh = !c.Reused }})
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.target.health(), http.NoBody)
	if err != nil {
		return false, err
	}
	a, err := send(r.pulse, q)
	if err != nil {
		return false, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, maxReason)) // so that the connection rests
	_ = a.Body.Close()
	if e := (&statusError{status: a.StatusCode}); e.passing() {
		return fresh, e
	}
	return fresh, nil
}
