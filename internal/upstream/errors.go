package upstream

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrUnknown says that no server of that name is configured.
	ErrUnknown = errors.New("no such server is configured")
	// ErrNotAllowed says that the operator's lists exclude the tool.
	ErrNotAllowed = errors.New("the configuration of the server does not allow this tool")
	// ErrArguments says that the arguments of a call are no JSON object.
	ErrArguments = errors.New("the arguments are no JSON object")
	// ErrClosed says that the fleet was closed.
	ErrClosed = errors.New("the sessions with other servers are closed")
	// ErrTooLarge says that a message is longer than is accepted.
	ErrTooLarge = errors.New("the message is longer than is accepted")
)

// UnavailableError says that a server cannot take the call now, and why. If the call was
// under way the server may have carried it out.
type UnavailableError struct {
	Server string
	State  State
	Reason string
	// Sent reports whether the call had been sent.
	Sent bool
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("server %s is unavailable (%s): %s", e.Server, e.State, e.Reason)
}

// TimeoutError says that a call was not answered in time. The server was told that it is
// cancelled, and may have carried it out.
type TimeoutError struct {
	Server, Tool string
	After        time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("server %s did not answer %s within %v; the call was cancelled (timeout of the server's configuration)", e.Server, e.Tool, e.After)
}

// ProtocolError is a refusal by the server in its own words.
type ProtocolError struct {
	Server  string
	Code    int64
	Message string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("server %s: %s (code %d)", e.Server, e.Message, e.Code)
}

// AnswerError says that the answer of a server is none that can be taken.
type AnswerError struct {
	Server, Reason string
}

func (e *AnswerError) Error() string { return fmt.Sprintf("server %s: %s", e.Server, e.Reason) }
