package snippet

import (
	"encoding/json"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// maxShown bounds a name that a caller chose and that the answer repeats, in bytes.
const maxShown = 80

// Request is the execution of a snippet with arguments, which are checked against its
// parameters and completed by their defaults. The error is a *[execution.RejectedError].
func (s Snippet) Request(args map[string]json.RawMessage, p execution.Principal, c execution.Client) (execution.Request, error) {
	known := map[string]bool{}
	values := make(map[string]json.RawMessage, len(s.Parameters))
	for _, one := range s.Parameters {
		known[one.Name] = true
		given, ok := args[one.Name]
		switch {
		case ok:
			value, err := one.accept(given)
			if err != nil {
				return execution.Request{}, err
			}
			values[one.Name] = value
		case one.Default == nil:
			return execution.Request{}, rejected(one.Name, "required: %s", one.Type.words())
		default:
			values[one.Name] = one.Default
		}
	}
	for name := range args {
		if !known[name] {
			return execution.Request{}, rejected(strings.ToValidUTF8(name[:min(len(name), maxShown)], "…"), "unknown argument: accepted are %s", s.names())
		}
	}
	return s.request(values, p, c)
}

// names are those of the parameters, for a sentence.
func (s Snippet) names() string {
	var names []string
	for _, p := range s.Parameters {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// request is the execution with values that were checked; nil checks all but them.
func (s Snippet) request(values map[string]json.RawMessage, p execution.Principal, c execution.Client) (execution.Request, error) {
	if values == nil {
		values = map[string]json.RawMessage{}
		for _, one := range s.Parameters {
			if values[one.Name] = one.Default; one.Default == nil {
				values[one.Name] = json.RawMessage("null") // stands for what a call will give
			}
		}
	}
	a := execution.Arguments{Code: s.Code, Language: string(s.Language), Variables: values, Gear: s.Gear}
	if s.TimeoutSeconds != 0 {
		a.TimeoutSeconds = &s.TimeoutSeconds
	}
	r, err := a.Request(p, c)
	r.Snippet = execution.Snippet{Name: s.Name, Pin: s.Pin()}
	return r, err
}
