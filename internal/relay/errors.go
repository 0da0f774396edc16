package relay

import (
	"errors"
	"fmt"
	"net/http"
)

var (
	// errSessionGone says that the server knows the session no more; it has not looked
	// at the message.
	errSessionGone = errors.New("the server does not know the session")
	// errNoStream says that the server has no stream for what is no answer.
	errNoStream = errors.New("the server has no such stream")
	// errCancelled says that the client gave its call up.
	errCancelled = errors.New("cancelled by the client")
	// errSilent says that something takes the connection, and nothing answers.
	errSilent = errors.New("it takes connections and does not answer")
	// errEnded says that the client is gone.
	errEnded = errors.New("the client has ended")
)

// awayError says that no answer came.
type awayError struct {
	sent bool // the message may have reached the server
	err  error
}

func (e *awayError) Error() string { return e.err.Error() }

func (e *awayError) Unwrap() error { return e.err }

// statusError is an answer of HTTP that is no message of the protocol.
type statusError struct {
	status  int
	message string // what the server says of it
}

func (e *statusError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("HTTP status %d (%s)", e.status, http.StatusText(e.status))
	}
	return fmt.Sprintf("HTTP status %d: %s", e.status, e.message)
}

// refused reports whether the server does not let this client in.
func (e *statusError) refused() bool {
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden
}

// gateway reports whether a proxy answered that had passed the request on, perhaps to a
// server which then went away.
func (e *statusError) gateway() bool {
	return e.status == http.StatusBadGateway || e.status == http.StatusGatewayTimeout
}

// passing reports whether the same request may succeed later. Proxies answer so for a
// server that is away.
func (e *statusError) passing() bool {
	switch e.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return true
	}
	return false
}
