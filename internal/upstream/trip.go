package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/time/rate"
)

// trip carries the HTTP exchanges of one session: it adds the operator's headers, bounds
// what is read, and ends all of it with the session. The SDK reads answers without a
// bound and outlives the context that it is given.
type trip struct {
	failures
	spec Spec
	home *url.URL
	opts *Options
	base *http.Transport
	sse  bool
	auth auth.OAuthHandler // for SSE, whose transport knows none

	ctx  context.Context //nolint:containedctx // it is the life of this value
	end  context.CancelFunc
	work sync.WaitGroup
}

func newTrip(s Spec, home *url.URL, o *Options) *trip {
	t := &trip{spec: s, home: home, opts: o}
	t.base = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: s.startupTimeout(), KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    s.startupTimeout(),
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    s.concurrency(),
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
	}
	t.ctx, t.end = context.WithCancel(context.Background())
	return t
}

func (t *trip) close() {
	t.end()
	t.work.Wait()
	t.base.CloseIdleConnections()
}

// errElsewhere refuses to follow a server to another one, which would be given what was
// meant for it: headers, arguments of tools.
var errElsewhere = errors.New("the server sends us elsewhere")

// redirect follows a server on its own host alone.
func (t *trip) redirect(q *http.Request, via []*http.Request) error {
	if !t.atHome(q.URL) {
		err := fmt.Errorf("%w, to %s://%s; if that is right, configure it as the URL in %s", errElsewhere, q.URL.Scheme, q.URL.Host, origin(t.spec))
		t.note(err)
		return err
	}
	if len(via) >= maxRedirects {
		return fmt.Errorf("the server redirected more than %d times", maxRedirects)
	}
	return nil
}

// atHome reports whether an address is of the configured server. Going over to TLS on the
// standard ports stays there.
func (t *trip) atHome(u *url.URL) bool {
	if u.Scheme == t.home.Scheme && strings.EqualFold(u.Host, t.home.Host) {
		return true
	}
	return t.home.Scheme == "http" && u.Scheme == "https" && t.home.Port() == "" && u.Port() == "" && strings.EqualFold(u.Hostname(), t.home.Hostname())
}

// RoundTrip implements [http.RoundTripper].
func (t *trip) RoundTrip(q *http.Request) (*http.Response, error) {
	if !t.atHome(q.URL) {
		// The endpoint that an SSE server names, as no redirect leads here.
		return nil, fmt.Errorf("%w, to %s://%s", errElsewhere, q.URL.Scheme, q.URL.Host)
	}
	ctx, cancel := context.WithCancelCause(q.Context())
	unlink := context.AfterFunc(t.ctx, func() { cancel(context.Canceled) }) //nolint:contextcheck // the other life that it is bound to
	release := func() {
		unlink()
		cancel(nil)
	}
	q = q.Clone(ctx)
	if err := t.prepare(q); err != nil {
		release()
		return nil, err
	}
	patience := t.patience(q, cancel)
	a, err := t.send(q)
	patience()
	if err != nil {
		defer release()
		if errors.Is(context.Cause(ctx), errSilent) {
			return silent(q), nil
		}
		if cause := q.Context().Err(); cause == nil {
			t.note(err)
		}
		return nil, err
	}
	return t.answer(q, a, release)
}

// send sends a request, and once more with another token when the one that it has is
// refused and can be renewed.
func (t *trip) send(q *http.Request) (*http.Response, error) {
	a, err := t.base.RoundTrip(q)
	if err != nil || t.auth == nil || a.StatusCode != http.StatusUnauthorized {
		return a, err
	}
	if t.auth.Authorize(q.Context(), q, a) != nil {
		a.Body = http.NoBody // it was read; that the server asks for a login is said of the status
		return a, nil
	}
	q = q.Clone(q.Context())
	if q.GetBody != nil {
		if q.Body, err = q.GetBody(); err != nil {
			return nil, err
		}
	}
	if err := t.prepare(q); err != nil {
		return nil, err
	}
	return t.base.RoundTrip(q)
}

func (t *trip) prepare(q *http.Request) error {
	for k, v := range t.spec.Headers {
		q.Header.Set(k, v)
	}
	if t.auth == nil {
		return nil
	}
	source, err := t.auth.TokenSource(q.Context())
	if err != nil || source == nil {
		return err
	}
	token, err := source.Token()
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+token.AccessToken)
	return nil
}

// errSilent says that a server did not answer what it may leave unanswered.
var errSilent = errors.New("no answer")

// patience gives up what a server may not know after a while: the probe, and a stream for
// what is no answer. Other exchanges take as long as their context.
func (t *trip) patience(q *http.Request, cancel context.CancelCauseFunc) (stop func()) {
	d := streamTime
	switch {
	case t.sse:
		return func() {}
	case q.Header.Get("Mcp-Method") == probeMethod:
		d = probeTime(t.spec)
	case q.Method != http.MethodGet:
		return func() {}
	}
	done := make(chan struct{})
	t.work.Go(func() {
		select {
		case <-t.opts.Clock.After(d):
			cancel(errSilent)
		case <-done:
		case <-t.ctx.Done():
		}
	})
	return func() { close(done) }
}

// silent is the answer of a server that has no such thing.
func silent(q *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed, Status: "405 Method Not Allowed", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: q,
	}
}

// answer bounds an answer, and keeps what the call waits for.
func (t *trip) answer(q *http.Request, a *http.Response, release func()) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	want := t.wanted(q)
	if want != nil {
		want.begin(q)
	}
	if a.StatusCode >= http.StatusMultipleChoices {
		defer release()
		return t.refused(q, a)
	}
	t.note(nil)
	if kind == "text/event-stream" {
		a.Body = &held{a.Body, release, t.ctx, rate.NewLimiter(lineRate, lineBurst)}
		if want != nil {
			a.Body = &teed{a.Body, want, t.opts.MaxMessage, t.note}
		}
		return a, nil
	}
	defer release()
	// An answer that breaks while the SDK reads it would end the whole session.
	body, err := whole(a, t.opts.MaxMessage)
	if err != nil {
		return nil, err
	}
	if want != nil {
		want.answered(body)
	}
	return a, nil
}

// wanted is what waits for what comes in answer to a request. Over SSE that is no answer
// to any: it comes by the one stream.
func (t *trip) wanted(q *http.Request) *answer {
	if t.sse {
		return nil
	}
	return expected(q.Context())
}

// refused reads an answer that is none of success, and notes it.
func (t *trip) refused(q *http.Request, a *http.Response) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(a.Body, maxReason))
	_ = a.Body.Close()
	if err != nil {
		return nil, err
	}
	a.Body = io.NopCloser(bytes.NewReader(text))
	if want := t.wanted(q); want != nil {
		want.answered(text)
	}
	if !t.matters(q, a.StatusCode) {
		return a, nil
	}
	if m, err := jsonrpc.DecodeMessage(text); err == nil {
		if r, ok := m.(*jsonrpc.Response); ok && r.Error != nil {
			return a, nil // the SDK has it from there
		}
	}
	e := &httpError{status: a.StatusCode, server: t.spec}
	if kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); kind == "text/plain" {
		e.text = string(bytes.TrimSpace(text[:min(len(text), maxSample)]))
	}
	t.note(e)
	return a, nil
}

// matters reports whether a refusal says something of the server: a stream that it does
// not offer and a session that it has forgotten do not.
func (t *trip) matters(q *http.Request, status int) bool {
	switch {
	case status < http.StatusBadRequest, q.Method == http.MethodDelete, q.Method == http.MethodGet && !t.sse:
		return false
	}
	return status != http.StatusNotFound || q.Header.Get("Mcp-Session-Id") == ""
}

// whole reads an answer to its end.
func whole(a *http.Response, limit int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(a.Body, int64(limit)+1))
	_ = a.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(body) > limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, limit)
	}
	a.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// lineRate and lineBurst bound how fast the lines of a stream are taken: the SDK queues
// the messages in them without a bound. A large message is one line.
const (
	lineRate  = 10 * notices
	lineBurst = 64 << 10
)

// held is the body of a stream. It is released when it is closed.
type held struct {
	io.ReadCloser
	release func()
	ctx     context.Context //nolint:containedctx // it is the life of this value
	pace    *rate.Limiter
}

func (h *held) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p[:min(len(p), lineBurst)])
	if lines := bytes.Count(p[:n], []byte("\n")); lines > 0 {
		if e := h.pace.WaitN(h.ctx, lines); e != nil {
			return 0, e
		}
	}
	return n, err
}

func (h *held) Close() error {
	defer h.release()
	return h.ReadCloser.Close()
}
