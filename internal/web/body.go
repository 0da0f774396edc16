package web

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// bodyError says what is wrong with the body of a request, in words for whoever sent it.
type bodyError struct {
	// Field is the field of the body, or the header, that is wrong; empty for the whole.
	Field   string
	Message string
	// TooLong tells that it was not read to its end.
	TooLong bool
}

func (e *bodyError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// maxNamed bounds what of a body is repeated in an answer, in bytes.
const maxNamed = 60

// readBody takes a JSON object as it is described by T, and nothing else: a field that is not
// known, twice there or written otherwise could mean something to whoever sent it that it
// does not mean here. The error is always a *[bodyError].
func readBody[T any](r *http.Request) (T, error) {
	var none T
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return none, &bodyError{Field: "Content-Type", Message: "send JSON, and say so: Content-Type: application/json"}
	}
	text, err := io.ReadAll(r.Body)
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		return none, &bodyError{Message: fmt.Sprintf("the body is longer than the %d bytes that are taken", tooLong.Limit), TooLong: true}
	}
	if err != nil {
		return none, notWhole(err)
	}
	return parseBody[T](text)
}

// notWhole says why the end of a body was not found: nothing but the connection, and who
// sends, has a part in that.
func notWhole(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &bodyError{Message: "the body did not come in time: send it at once"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &bodyError{Message: "the body breaks off before its end"}
	}
	return &bodyError{Message: "the body could not be read to its end: send it whole, with its length or in well-formed chunks"}
}

func parseBody[T any](text []byte) (out T, err error) {
	fields := namesOf(reflect.TypeFor[T]())
	if strings.TrimSpace(string(text)) == "" {
		return out, &bodyError{Message: "the body is empty: send a JSON object with the fields " + strings.Join(fields, ", ")}
	}
	if jsontext.Value(text).Kind() == 'n' { // to the library null is a value of every type
		return out, notAnObject("null", fields)
	}
	if err := json.Unmarshal(text, &out, json.RejectUnknownMembers(true)); err != nil {
		var none T
		return none, inWords(err, fields)
	}
	return out, noNull(text, fields)
}

// noNull refuses a field that is null, which to the library is the zero value of each type,
// and so a field that is not there.
func noNull(text []byte, fields []string) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return inWords(err, fields)
	}
	for _, name := range fields {
		if value, sent := members[name]; sent && value.Kind() == 'n' {
			return &bodyError{Field: name, Message: "must not be null: leave it out, or send a value"}
		}
	}
	return nil
}

// namesOf are the names of the fields of a body, in their order.
func namesOf(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// inWords says what the decoder found without the words of this program.
func inWords(err error, fields []string) error {
	var form *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.As(err, &form):
		return aboutForm(form)
	case errors.As(err, &meaning):
		return aboutMeaning(meaning, fields)
	}
	return &bodyError{Message: "the body could not be read as a JSON object with the fields " + strings.Join(fields, ", ")}
}

func aboutForm(e *jsontext.SyntacticError) error {
	if errors.Is(e, jsontext.ErrDuplicateName) {
		return &bodyError{Field: named(e.JSONPointer), Message: "it is there twice: send it once"}
	}
	return &bodyError{Message: fmt.Sprintf("the body is not one JSON object in UTF-8: what is wrong begins at byte %d", e.ByteOffset)}
}

func aboutMeaning(e *json.SemanticError, fields []string) error {
	at := named(e.JSONPointer)
	switch {
	case errors.Is(e, json.ErrUnknownName):
		return &bodyError{Field: at, Message: "there is no such field: leave it out; the fields are " + strings.Join(fields, ", ")}
	case at == "":
		return notAnObject(kinds[e.JSONKind], fields)
	case e.JSONKind == kindWanted(e.GoType) && e.Err != nil: // the right kind, and a value that says itself what it is not
		return &bodyError{Field: at, Message: visible.Line(e.Err.Error())}
	}
	return &bodyError{Field: at, Message: fmt.Sprintf("must be %s, and not %s", kinds[kindWanted(e.GoType)], kinds[e.JSONKind])}
}

func notAnObject(kind string, fields []string) error {
	return &bodyError{Message: fmt.Sprintf("the body must be a JSON object, and not %s: its fields are %s", kind, strings.Join(fields, ", "))}
}

// kinds are those of JSON in words.
var kinds = map[jsontext.Kind]string{
	'n': "null", 't': "true or false", 'f': "true or false", '"': "a string", '0': "a number", '{': "an object", '[': "a list", 0: "something else",
}

// kindWanted is the kind of JSON that a value of a type is written as.
func kindWanted(t reflect.Type) jsontext.Kind {
	if t == nil {
		return 0
	}
	if t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return '"'
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		return '"'
	case k == reflect.Bool:
		return 't'
	case slices.Contains([]reflect.Kind{reflect.Struct, reflect.Map}, k):
		return '{'
	case slices.Contains([]reflect.Kind{reflect.Slice, reflect.Array}, k):
		return '['
	case k >= reflect.Int && k <= reflect.Float64:
		return '0'
	}
	return 0
}

// named is the place in a body that is meant, as a person is shown it.
func named(p jsontext.Pointer) string {
	var parts []string
	for token := range p.Tokens() {
		parts = append(parts, token)
	}
	return short(strings.Join(parts, "."))
}

// short is a name that somebody made up, as it is repeated to them.
func short(name string) string {
	name = visible.Line(name)
	if len(name) > maxNamed {
		name = strings.ToValidUTF8(name[:maxNamed], "") + "…"
	}
	return name
}
