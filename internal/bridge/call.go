package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// The bounds on the call frames of one program.
const (
	// MaxCallHead bounds the head, in bytes: it holds names and a search text.
	MaxCallHead = 64 << 10
	// MaxArguments bounds the arguments of one call, in bytes of JSON. A document of a
	// few megabytes fits, also with every character escaped. What is larger is better
	// named by a path or an address that the tool's server reads by itself.
	MaxArguments = 16 << 20
	// MaxArgumentsDue bounds the arguments of all calls that are due together: the host
	// holds each until it is answered, for however many sandboxes.
	MaxArgumentsDue = 2 * MaxArguments
	// MaxCalls bounds the calls that are due.
	MaxCalls = 128
	// maxNames bounds the tools that one question is about.
	maxNames = 1000
	// maxWait bounds CallHead.Timeout, in seconds: no run is as long as a day.
	maxWait = 24 * 60 * 60
)

// ReadCall reads a call frame of a program, whose word on it is hostile. The body is a
// JSON object where arguments are wanted, {} when there were none, and empty otherwise.
// The error wraps [ErrProtocol]: the guest writes no such frame.
func ReadCall(f Frame) (CallHead, []byte, error) {
	var h CallHead
	switch {
	case f.Kind != Call:
		return h, nil, fmt.Errorf("%w: kind %d instead of a call", ErrProtocol, f.Kind)
	case len(f.Head) > MaxCallHead:
		return h, nil, fmt.Errorf("%w: head of a call of %d bytes", ErrProtocol, len(f.Head))
	case len(f.Body) > MaxArguments:
		return h, nil, fmt.Errorf("%w: arguments of %d bytes", ErrProtocol, len(f.Body))
	}
	if err := json.Unmarshal(f.Head, &h); err != nil {
		return h, nil, fmt.Errorf("%w: head of a call: %w", ErrProtocol, err)
	}
	if h.Limit < 0 || len(h.Names) > maxNames || h.Timeout < 0 || h.Timeout > maxWait {
		return h, nil, fmt.Errorf("%w: head of a call: a number is out of its range", ErrProtocol)
	}
	body, err := argumentsOf(h, f.Body)
	return h, body, err
}

func argumentsOf(h CallHead, body []byte) ([]byte, error) {
	switch h.Want {
	case WantModule, WantSearch, WantDescribe, WantRead:
		if len(body) > 0 {
			return nil, fmt.Errorf("%w: %s with arguments", ErrProtocol, h.Want)
		}
		return nil, nil
	case WantCall:
		body = bytes.TrimLeft(body, " \t\r\n")
		if len(body) == 0 {
			return []byte("{}"), nil
		}
		if body[0] != '{' || !utf8.Valid(body) || !json.Valid(body) {
			return nil, fmt.Errorf("%w: arguments are not a JSON object", ErrProtocol)
		}
		return body, nil
	}
	return nil, fmt.Errorf("%w: a call wants %.40q", ErrProtocol, string(h.Want))
}
