package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/tmaxmax/go-sse"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const (
	// heartbeat keeps what lies between from taking a quiet stream for a dead one.
	heartbeat = 15 * time.Second
	// frameTime is how long a client may take to take one event, or answer a ping.
	frameTime = 10 * time.Second
)

// events tells what happens to questions, as Server-Sent Events, or over a WebSocket where
// the request asks for one.
func (a *approvals) events(w http.ResponseWriter, r *http.Request) {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		a.overWebSocket(w, r)
		return
	}
	a.overSSE(w, r)
}

func (a *approvals) overSSE(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	begun := false
	write := func(m *sse.Message) error {
		if !begun {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			begun = true
		}
		if _, err := m.WriteTo(w); err != nil {
			return err
		}
		return control.Flush()
	}
	err := a.feed.follow(r.Context(), a.beat,
		func(e encoded) error {
			m := &sse.Message{Type: sse.Type(string(e.kind))}
			m.AppendData(string(e.text))
			return write(m)
		},
		func() error {
			m := &sse.Message{}
			m.AppendComment("still here")
			return write(m)
		})
	if !begun {
		a.notFollowed(w, r, err)
	}
}

// notFollowed answers who cannot follow just now.
func (a *approvals) notFollowed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errTooMany) || errors.Is(err, errStopped) {
		err = &execution.RejectedError{Code: execution.CodeUnavailable, Message: err.Error(), RetryAfter: time.Second}
	}
	if r.Context().Err() == nil && rejected(w, err) {
		a.log.LogAttrs(r.Context(), slog.LevelError, "the questions cannot be followed", slog.String("error", err.Error()))
	}
}

// overWebSocket sends each event as one text message and takes none. The client's pongs
// are what tells that it is still there.
func (a *approvals) overWebSocket(w http.ResponseWriter, r *http.Request) {
	done, ok := a.feed.streams()
	if !ok {
		a.notFollowed(w, r, errStopped)
		return
	}
	defer done()
	// The origin has passed the gate, which knows the ones that the operator named.
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	defer func() { _ = c.CloseNow() }() // after the closing handshake there is nothing left to fail
	// A context that ends in the midst of reading or writing breaks the connection, and the
	// client would not be told why.
	whole := context.WithoutCancel(r.Context())
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	context.AfterFunc(c.CloseRead(whole), stop)
	within := func(do func(context.Context) error) error {
		ctx, stop := context.WithTimeout(whole, frameTime)
		defer stop()
		return do(ctx)
	}
	err = a.feed.follow(ctx, a.beat,
		func(e encoded) error {
			return within(func(ctx context.Context) error { return c.Write(ctx, websocket.MessageText, e.text) })
		},
		func() error { return within(c.Ping) })
	_ = c.Close(closing(err)) // the client may be gone
}

// closing says to a client why its stream ends.
func closing(err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, errStopped):
		return websocket.StatusGoingAway, err.Error()
	case errors.Is(err, errSlow), errors.Is(err, errTooMany):
		return websocket.StatusTryAgainLater, err.Error()
	case errors.Is(err, context.Canceled):
		return websocket.StatusPolicyViolation, "the token is no longer valid"
	}
	return websocket.StatusInternalError, "the questions cannot be followed; the log of the server has the reason"
}
