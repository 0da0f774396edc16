package mcpserver

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

var errNull = errors.New("null")

// decode reads the arguments of a call into dst, a pointer to a struct. Nothing
// is guessed: an unknown argument, one given twice or in another case
// (CVE-2026-27896), a wrong type, a null, invalid UTF-8 and half a surrogate
// pair are refused, because what is decided on, shown and recorded must be what
// runs. Absent and null arguments, which some clients send for none, are an
// empty object. The error is a *[execution.RejectedError].
func decode(raw []byte, dst any) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if kind := jsontext.Value(raw).Kind(); kind != jsontext.KindBeginObject {
		return refuse("", "the arguments must be an object, not %s", kindName(kind))
	}
	err := json.Unmarshal(raw, dst, json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.UnmarshalFromFunc(noNull)))
	if err != nil {
		return explain(err, dst)
	}
	return nil
}

// noNull refuses null everywhere but inside the values of variables, where it is None, and
// of the arguments of another server's tool.
func noNull(d *jsontext.Decoder, _ any) error {
	if d.PeekKind() != jsontext.KindNull || strings.HasPrefix(string(d.StackPointer()), "/variables/") ||
		strings.HasPrefix(string(d.StackPointer()), "/global_variables/") || strings.HasPrefix(string(d.StackPointer()), "/arguments/") {
		return errors.ErrUnsupported // go on as without this function
	}
	return errNull
}

// explain says what is wrong in the words of the caller.
func explain(err error, dst any) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return refuse(fieldOf(syntax.JSONPointer), "given twice")
		}
		return refuse(fieldOf(syntax.JSONPointer), "not valid JSON in UTF-8; half a surrogate pair is not valid either")
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return refuse("", "the arguments cannot be read")
	}
	field := fieldOf(semantic.JSONPointer)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return refuse(field, "unknown argument: accepted are %s", strings.Join(accepted(dst, field), ", "))
	case errors.Is(err, errNull):
		return refuse(field, "null: leave the argument out instead")
	case semantic.GoType != nil:
		want, got := typeName(semantic.GoType), kindName(semantic.JSONKind)
		if got == "a number" && strings.HasSuffix(want, " number") {
			got = "one of this form or size"
		}
		return refuse(field, "must be %s, not %s", want, got)
	}
	return refuse(field, "cannot be read")
}

func refuse(field, format string, args ...any) *execution.RejectedError {
	return &execution.RejectedError{
		Code: execution.CodeInvalidArgument, Field: field, Message: fmt.Sprintf(format, args...),
	}
}

// maxField bounds a name that the caller chose and that the answer repeats.
const maxField = 80

// fieldOf writes /files/0/path as files[0].path.
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		_, err := strconv.Atoi(token)
		switch {
		case err == nil && b.Len() > 0:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return cut(b.String(), maxField, func(int, int) string { return "…" }).text
}

// accepted lists the names beside which an unknown one stood.
func accepted(dst any, field string) []string {
	t := reflect.TypeOf(dst).Elem()
	if strings.HasPrefix(field, "files[") {
		t = reflect.TypeFor[execution.FileArgument]()
	}
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Float64:
		return "a number"
	case reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginArray:
		return "an array"
	case jsontext.KindBeginObject:
		return "an object"
	default:
		return "something that is not JSON"
	}
}
