package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// valueText is the last value as Python's own prompt would print it. A value
// that is no JSON arrives as its repr in a string, and its type tells.
func valueText(r execution.Result) (string, error) {
	if r.Value == nil {
		return "", nil
	}
	var s string
	if r.ValueType != "str" && json.Unmarshal(r.Value, &s) == nil {
		return s, nil
	}
	return repr(r.Value)
}

// container is an open list or dict while it is printed.
type container struct {
	dict  bool
	items int
}

// separator is what comes before the next item.
func (c *container) separator() string {
	defer func() { c.items++ }()
	switch {
	case c.items == 0:
		return ""
	case c.dict && c.items%2 == 1:
		return ": "
	}
	return ", "
}

// repr writes JSON as Python's repr writes the same value. It walks tokens
// instead of recursing: the text comes from the program, which may nest it as
// deeply as it likes.
func repr(text json.RawMessage) (string, error) {
	var b strings.Builder
	var open []*container
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return "", fmt.Errorf("print the value: %w", err)
		}
		closing := t == json.Delim(']') || t == json.Delim('}')
		if len(open) > 0 && !closing {
			b.WriteString(open[len(open)-1].separator())
		}
		switch t := t.(type) {
		case json.Delim:
			b.WriteRune(rune(t))
			if closing {
				open = open[:len(open)-1]
			} else {
				open = append(open, &container{dict: t == '{'})
			}
		case string:
			writeString(&b, t)
		default:
			b.WriteString(literal(t))
		}
	}
}

func literal(t json.Token) string {
	switch t {
	case nil:
		return "None"
	case true:
		return "True"
	case false:
		return "False"
	}
	return fmt.Sprint(t) // a number, as Python wrote it
}

// writeString writes a string literal by the rules of Python's unicode_repr:
// single quotes unless only double quotes avoid escaping.
func writeString(b *strings.Builder, s string) {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
}
