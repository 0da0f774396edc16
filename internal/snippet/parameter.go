package snippet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Type is what values a parameter takes, by its name in JSON Schema.
type Type string

// The types.
const (
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Array   Type = "array"
	Object  Type = "object"
)

// Types lists every type.
func Types() []Type { return []Type{String, Integer, Number, Boolean, Array, Object} }

// Schema is the JSON schema of the parameter's values.
func (p Parameter) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: string(p.Type), Default: p.Default}
}

// ParseParameter reads NAME:TYPE or NAME:TYPE=DEFAULT. The default of a string is the text
// as it stands, every other is JSON.
func ParseParameter(text string) (Parameter, error) {
	declared, value, has := strings.Cut(text, "=")
	name, typed, ok := strings.Cut(declared, ":")
	p := Parameter{Name: strings.TrimSpace(name), Type: Type(strings.TrimSpace(typed))}
	if !ok {
		return p, fmt.Errorf("%.100q: write NAME:TYPE or NAME:TYPE=DEFAULT, as limit:integer=10", text)
	}
	if has {
		var err error
		if p.Default, err = p.Value(value); err != nil {
			return p, err
		}
	}
	return p, p.check()
}

// Value is the JSON of a value that a person wrote: the text itself for a string, else JSON.
func (p Parameter) Value(text string) (json.RawMessage, error) {
	if p.Type == String {
		return jsontext.AppendQuote(nil, text)
	}
	return p.accept(json.RawMessage(text))
}

func (p Parameter) check() error {
	if !slices.Contains(Types(), p.Type) {
		return fmt.Errorf("the parameter %.60q: %.40q is no type: use one of %v", p.Name, p.Type, Types())
	}
	if p.Default == nil {
		return nil
	}
	value, err := p.accept(p.Default)
	if err != nil {
		return fmt.Errorf("the default: %w", err)
	}
	if !bytes.Equal(value, p.Default) {
		return fmt.Errorf("the default of %s is not written without spaces between its parts", p.Name)
	}
	return nil
}

// wholeNumber is how Python's ints are written: 1.0 and 1e3 would become floats.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// accept checks a value against the schema and takes the spaces out of it. The error is a
// *[execution.RejectedError] that names the parameter.
func (p Parameter) accept(value json.RawMessage) (json.RawMessage, error) {
	text := jsontext.Value(value).Clone()
	if err := text.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil { // strict: UTF-8, and no member twice
		return nil, rejected(p.Name, "not one value of JSON in UTF-8")
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, rejected(p.Name, "out of the range of JSON numbers")
	}
	schema, err := (&jsonschema.Schema{Type: string(p.Type)}).Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", p.Name, err)
	}
	if err := schema.Validate(v); err != nil || p.Type == Integer && !wholeNumber.Match(text) {
		return nil, rejected(p.Name, "must be %s, not %s", p.Type.words(), kind(v))
	}
	return json.RawMessage(text), nil
}

func (t Type) words() string {
	switch t {
	case Integer:
		return "an integer, without point or exponent"
	case Array, Object:
		return "an " + string(t)
	case String, Number, Boolean:
	}
	return "a " + string(t)
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case float64:
		return "a number of another form"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	}
	return "an object"
}

func rejected(field, format string, args ...any) error {
	return &execution.RejectedError{Code: execution.CodeInvalidArgument, Field: field, Message: fmt.Sprintf(format, args...)}
}

// TypeOf is the type of a JSON value; for null, which is of none, that of a string.
func TypeOf(value json.RawMessage) Type {
	for _, t := range Types() {
		if _, err := (Parameter{Type: t}).accept(value); err == nil {
			return t
		}
	}
	return String
}
