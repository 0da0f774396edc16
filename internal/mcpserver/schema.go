package mcpserver

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// AnswerSchema is the published schema of the structured answer, made from its
// Go type. Fields are only ever added, so it accepts fields that it does not
// know: whoever validates against an older copy goes on working.
func AnswerSchema() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[execution.Result](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[execution.Status](): {Type: "string", Enum: anys(execution.Statuses())},
		reflect.TypeFor[execution.Level]():  {Type: "string", Enum: anys(execution.Levels())},
		reflect.TypeFor[json.RawMessage]():  {},
	}})
	if err != nil {
		return nil, fmt.Errorf("make the schema of the answer: %w", err)
	}
	open(s)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Gearbox answer"
	s.Description = "The structured content of execute, get_operation and cancel_operation, and what gearbox exec --json prints."
	for name, description := range descriptions() {
		p := s.Properties[name]
		if p == nil {
			return nil, fmt.Errorf("make the schema of the answer: it has no field %q to describe", name)
		}
		p.Description = description
	}
	return s, nil
}

func anys[T ~string](in []T) []any {
	out := make([]any, 0, len(in))
	for _, v := range in {
		out = append(out, string(v))
	}
	return out
}

// open lets objects have fields that the schema does not name, and absent lists
// be absent rather than null.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	open(s.Items)
	open(s.AdditionalProperties)
	for _, p := range s.Properties {
		open(p)
	}
}

func descriptions() map[string]string {
	return map[string]string{
		"status":               "How the execution stands or ended.",
		"operation_id":         "Names the operation for get_operation and cancel_operation; empty when the call was rejected.",
		"exit_code":            "0 only with ok, 128+n after signal n, -1 when the program did not end by itself or never ran.",
		"stdout":               "What the program printed, the middle left out when it is long.",
		"stderr":               "Likewise; with exit code -1 its last line says why.",
		"signal":               "The signal that ended the program, such as SIGSEGV.",
		"value":                "The value of the last expression: as JSON where Python's value is, else its repr.",
		"value_type":           "The class of the value.",
		"error":                "Why a run did not end well.",
		"duration_ms":          "Wall time of the program.",
		"cpu_ms":               "Processor time of the program and all its processes.",
		"memory_peak_bytes":    "The most memory that was in use.",
		"truncated":            "By stream, what was produced and what was kept, where an answer does not hold all.",
		"lossy":                "Bytes that are not UTF-8 were replaced.",
		"artifacts":            "Files that came out.",
		"tool_calls":           "Calls of other servers' tools by the program.",
		"connections":          "Where the program connected to.",
		"denied":               "Permissions that were refused.",
		"unsupported_syscalls": "System calls that the program made and the sandbox does not offer.",
		"session_id":           "The session that the run belongs to.",
		"cached":               "The answer comes from an earlier run of the same code.",
		"summary":              "What waits for approval.",
		"permissions":          "What approval is asked for.",
		"approve_hint":         "How a human approves.",
		"expires_at":           "When the request for approval ends (RFC 3339).",
		"gear":                 "The gear that the execution was judged by.",
		"isolation":            "The level of isolation of the run.",
		"backend":              "What ran it.",
		"warnings":             "What one should know beside the outcome.",
	}
}
