package catalog

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Pin names a definition by its content: everything that a model or a human is shown of the
// tool, and all that its arguments are checked by. Schemas count as JSON (RFC 8785), so that
// neither the order of members nor spaces make another pin. Numbers count as they are
// written: two that only a float cannot tell apart are two.
func Pin(d tool.Definition) execution.Digest {
	hints, err := json.Marshal(d.Hints)
	if err != nil { // four pointers to bool: there is no such error
		hints = nil
	}
	wrapped := "plain"
	if d.Wrapped {
		wrapped = "wrapped"
	}
	return execution.DigestOf([]byte("tool/1"), []byte(d.Server), []byte(d.Name), []byte(d.Title), []byte(d.Description),
		canonical(d.Input), canonical(d.Output), hints, []byte(wrapped))
}

// canonical is one way of writing a JSON value. What is none, or has two members of one
// name, stays as it is, marked as such.
func canonical(text json.RawMessage) []byte {
	v := jsontext.Value(text).Clone()
	if len(text) == 0 {
		return nil
	}
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return append([]byte("raw "), text...)
	}
	return append([]byte("json "), v...)
}
