package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Call is one call of a tool of another server that is an operation of its own: a client
// asked for it, or a human is asked about it while a program waits. Its language is
// [Tool], and its code is the call as people are shown it.
type Call struct {
	// Tool is the server's name, a dot, and the tool's as the server spells it.
	Tool string `json:"tool"`
	// Arguments are a JSON object.
	Arguments json.RawMessage `json:"arguments"`
	// Run is the operation whose program waits for the answer; empty when none does.
	Run ID `json:"run,omitempty"`
}

// Source is the code of the operation. The error is a *[RejectedError] when the call is
// longer than an operation's code may be.
func (c Call) Source() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", invalid("arguments", "are no JSON object: %v", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return "", invalid("arguments", "are no JSON object: %v", err)
	}
	if b.Len() > MaxCode {
		return "", invalid("arguments", "%d bytes: at most %d are accepted", b.Len(), MaxCode)
	}
	return b.String(), nil
}

// ParseCall reads what Source has written.
func ParseCall(code string) (Call, error) {
	d := json.NewDecoder(strings.NewReader(code))
	d.DisallowUnknownFields()
	var c Call
	if err := d.Decode(&c); err != nil {
		return Call{}, fmt.Errorf("read a call of a tool: %w", err)
	}
	return c, nil
}
