package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
// longer than an operation's code may be, or its arguments are not JSON that every reader
// takes for the same.
func (c Call) Source() (string, error) {
	c.Arguments = slices.Clone(c.Arguments)
	// Strings in their shortest form: an escape must not hide from people what a server reads.
	if err := (*jsontext.Value)(&c.Arguments).Format(); err != nil {
		return "", invalid("arguments", "are no JSON object: %v", err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return "", invalid("arguments", "are no JSON object: %v", err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if len(text) > MaxCode {
		return "", invalid("arguments", "%d bytes: at most %d are accepted", len(text), MaxCode)
	}
	return text, nil
}

// Lines are the arguments in as many lines as they are best read in.
func (c Call) Lines() string {
	var b bytes.Buffer
	if err := json.Indent(&b, c.Arguments, "", "  "); err != nil {
		return string(c.Arguments)
	}
	return b.String()
}

// CallOf is the call that an operation is. It is false for operations that are a program,
// and where the code was not kept.
func CallOf(r Request) (Call, bool) {
	if r.Language != Tool {
		return Call{}, false
	}
	c, err := ParseCall(r.Code)
	return c, err == nil
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
