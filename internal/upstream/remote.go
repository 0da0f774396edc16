package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote is a server by its address, over streamable HTTP or over SSE (2024-11-05).
type remote struct {
	spec  Spec
	opts  *Options
	sse   bool
	trip  *trip
	noise *noise
	auth  auth.OAuthHandler // nil where none is configured
}

func reach(s Spec, o *Options, sse bool, handler auth.OAuthHandler) (*remote, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("the address cannot be read") // the error repeats it, with what is secret in it
	}
	r := &remote{spec: s, opts: o, sse: sse, noise: &noise{}, auth: handler}
	r.trip = newTrip(s, u, o)
	r.trip.sse = sse
	if sse {
		r.trip.auth = handler
	}
	return r, nil
}

// Connect implements [mcp.Transport].
func (r *remote) Connect(ctx context.Context) (mcp.Connection, error) {
	client := &http.Client{Transport: r.trip, CheckRedirect: r.trip.redirect}
	if r.sse {
		// The SDK binds the stream to the context, which is that of the start alone.
		ctx = context.WithoutCancel(ctx)
		c, err := (&mcp.SSEClientTransport{Endpoint: r.spec.URL, HTTPClient: client, MaxEventSize: r.opts.MaxMessage}).Connect(ctx)
		if err != nil {
			return nil, err
		}
		return watch(c, r.noise), nil
	}
	t := &mcp.StreamableClientTransport{Endpoint: r.spec.URL, HTTPClient: client, MaxEventSize: r.opts.MaxMessage, OAuthHandler: r.auth}
	return t.Connect(ctx)
}

// version pins the older protocol for SSE, which ended before the newer one began.
func (r *remote) version() string {
	if r.sse {
		return sessionful
	}
	return ""
}

// sessionful is the last version of the protocol with sessions.
const sessionful = "2025-11-25"

func (r *remote) cut() { r.trip.close() }

// grace is short: what fails the session is seen before the call that it fails.
func (*remote) grace() time.Duration { return drainTime }

func (r *remote) trouble() string {
	if f := r.trip.failure(); f != nil {
		return r.explain(f)
	}
	return ""
}

func (r *remote) last() string { return "" }

func (r *remote) ignored() (int, string) { return r.noise.seen() }

// explain prefers what the server said over HTTP to what came of that.
func (r *remote) explain(err error) string {
	if f := r.trip.failure(); f != nil {
		return f.Error()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address stands in the configuration
	}
	if err == nil {
		return "it ended the session"
	}
	return err.Error()
}

// speaksOld reports whether the server answered as one that knows SSE alone would
// (2025-03-26, "Backwards Compatibility").
func (r *remote) speaksOld() bool {
	var h *httpError
	if !errors.As(r.trip.failure(), &h) {
		return false
	}
	switch h.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// httpError is a refusal by HTTP.
type httpError struct {
	status int
	server Spec
	text   string // of the server, if it is plain
}

func (e *httpError) Error() string {
	switch e.status {
	case http.StatusUnauthorized:
		if e.server.OAuth != nil {
			return fmt.Sprintf("the server asks for authorization (HTTP 401): run gearbox upstream login %s", e.server.Name)
		}
		if len(e.server.Headers) > 0 {
			return fmt.Sprintf("the server refuses the credential that is configured (HTTP 401): renew it in %s, or run gearbox upstream login %s", origin(e.server), e.server.Name)
		}
		return fmt.Sprintf("the server asks for authorization (HTTP 401): run gearbox upstream login %s, or set an Authorization header in %s", e.server.Name, origin(e.server))
	case http.StatusForbidden:
		return "the server refuses access (HTTP 403): the credential may lack a right" + e.said()
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return fmt.Sprintf("there is no MCP server at the address (HTTP %d): compare the path of the URL with the server's documentation%s", e.status, e.said())
	}
	return fmt.Sprintf("HTTP status %d (%s)%s", e.status, http.StatusText(e.status), e.said())
}

func (e *httpError) said() string {
	if e.text == "" {
		return ""
	}
	return ": " + e.text
}

func origin(s Spec) string {
	if s.Origin == "" {
		return "its configuration"
	}
	return s.Origin
}

// failures keeps what went wrong last.
type failures struct {
	mu  sync.Mutex // guards err
	err error
}

func (f *failures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failures) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
