package endpoint

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/gateway/agent"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

const (
	// maxReply bounds the reply in bytes: a program of the greatest length and words beside.
	maxReply = 2 << 20
	// maxReason bounds what is read of an error, and shownReason what is quoted of it.
	maxReason   = 64 << 10
	shownReason = 300
)

// passingError is a failure after which another try may help, not before a time.
type passingError struct {
	error

	after time.Duration
}

func (e *passingError) Unwrap() error { return e.error }

// once sends the request one time.
func (c *Client) once(ctx context.Context, body []byte) (agent.Reply, error) {
	key, err := c.key()
	if err != nil {
		return agent.Reply{}, err
	}
	clean := func(s string) string { return withoutKey(s, key) }
	res, err := c.send(ctx, body, key)
	if err != nil {
		return agent.Reply{}, c.unreached(ctx, err, clean)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return agent.Reply{}, c.refused(res, clean)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case err != nil:
		return agent.Reply{}, c.unreached(ctx, fmt.Errorf("the reply broke off: %w", err), clean)
	case len(text) > maxReply:
		return agent.Reply{}, fmt.Errorf("%w: more than %d bytes came from %s", ErrTooLong, maxReply, c.host())
	}
	return c.read(res, text, clean)
}

func (c *Client) send(ctx context.Context, body []byte, key string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "gearbox/"+c.c.Version)
	c.wire.authorise(r.Header, key)
	return c.http.Do(r)
}

// unreached is why nothing came back.
func (c *Client) unreached(ctx context.Context, err error, clean func(string) string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err // where the endpoint is stands beside it
	}
	told := fmt.Errorf("%w: %s: %s", ErrUnavailable, c.host(), clean(err.Error()))
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return told
	}
	return &passingError{error: told}
}

// read takes the reply out of a body.
func (c *Client) read(res *http.Response, text []byte, clean func(string) string) (agent.Reply, error) {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
		return agent.Reply{}, fmt.Errorf("%w: %s sent a stream of events, which nobody asked for", ErrMalformed, c.host())
	}
	reply, err := c.wire.decode(text)
	if err != nil {
		if said := reason(text); said != "" { // some endpoints tell failures with the status 200
			return agent.Reply{}, fmt.Errorf("%w: %s says: %s", ErrRequest, c.host(), clean(said))
		}
		return agent.Reply{}, fmt.Errorf("%w: %s: %s: is agent.base_url right, and agent.provider?", ErrMalformed, c.host(), clean(err.Error()))
	}
	reply.Text = clean(strings.ToValidUTF8(reply.Text, "\ufffd"))
	return reply, nil
}

// refused is what an answer other than 200 means.
func (c *Client) refused(res *http.Response, clean func(string) string) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxReason)) // the status says most of it
	says := fmt.Sprintf("%s answered %d", c.host(), res.StatusCode)
	if said := clean(reason(text)); said != "" && res.StatusCode != http.StatusUnauthorized {
		says += ": " + said // of a refused key it is parts of the key
	}
	switch n := res.StatusCode; {
	case n == http.StatusUnauthorized:
		return fmt.Errorf("%w: %s: the key in %s is missing, wrong or expired", ErrCredential, says, c.c.KeyOf())
	case n == http.StatusForbidden:
		return fmt.Errorf("%w: %s: the key in %s may not use %q", ErrCredential, says, c.c.KeyOf(), c.c.Model)
	case n == http.StatusTooManyRequests && paidOut(text):
		return fmt.Errorf("%w: %s", ErrBusy, says)
	case n == http.StatusTooManyRequests:
		return &passingError{fmt.Errorf("%w: %s", ErrBusy, says), retryAfter(res.Header, time.Now())}
	case n == http.StatusRequestTimeout, n >= http.StatusInternalServerError:
		return &passingError{fmt.Errorf("%w: %s", ErrUnavailable, says), retryAfter(res.Header, time.Now())}
	case n == http.StatusNotFound:
		return fmt.Errorf("%w: %s: is agent.base_url right, and agent.model %q?", ErrRequest, says, c.c.Model)
	case n >= http.StatusMultipleChoices && n < http.StatusBadRequest:
		return fmt.Errorf("%w: %s, and no redirect is followed, because the key is for this address alone", ErrRequest, says)
	}
	return fmt.Errorf("%w: %s", ErrRequest, says)
}

// failure is how both wire formats tell one. Some endpoints write a text instead.
type failure struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    any    `json:"code"`
}

func failureOf(text []byte) failure {
	var told struct {
		Error json.RawMessage `json:"error"`
	}
	var f failure
	if json.Unmarshal(text, &told) != nil || json.Unmarshal(told.Error, &f) == nil {
		return f
	}
	_ = json.Unmarshal(told.Error, &f.Message) // or it is neither, and says nothing
	return f
}

// reason is what an endpoint says of a failure, on one line; empty for nothing.
func reason(text []byte) string {
	said := strings.ToValidUTF8(failureOf(text).Message, "\ufffd")
	if runes := []rune(said); len(runes) > shownReason {
		said = string(runes[:shownReason]) + "…"
	}
	return visible.Line(strings.Join(strings.Fields(said), " "))
}

// paidOut reports whether waiting does not help.
func paidOut(text []byte) bool {
	f := failureOf(text)
	return f.Type == "insufficient_quota" || f.Code == "insufficient_quota"
}

// retryAfter is the time that an endpoint asks to wait (RFC 9110, 10.2.3), 0 for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, agent.MaxTimeout.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), agent.MaxTimeout)
	}
	return 0
}

// withoutKey clears a text of the credential.
func withoutKey(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "[key]")
}
