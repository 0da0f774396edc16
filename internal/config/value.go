package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Value is a kind of value and the variable that it goes to.
type Value struct {
	Kind

	list   bool
	commas bool // one flag may hold several, separated by commas
	inline bool // the file may hold what a value would name
	put    func([]Item)
}

// Item is one value and where it was written. The text was checked.
type Item struct {
	Text string
	From Origin
}

func scalar(k Kind, put func(text string)) Value {
	return Value{Kind: k, put: func(items []Item) { put(items[len(items)-1].Text) }}
}

// Text is a value of a kind that is used as it is written.
func Text(to *string, k Kind) Value { return scalar(k, func(s string) { *to = s }) }

// Switch is true or false. Its flag needs no value.
func Switch(to *bool) Value { return scalar(truth(), func(s string) { *to = s == "true" }) }

// Number is a whole number between two others, ends included. The pointer stays nil as
// long as nothing is written.
func Number(to **int, least, most int) Value {
	return scalar(whole(least, most), func(s string) {
		if n, err := strconv.Atoi(s); err == nil { // it was read before
			*to = &n
		}
	})
}

// Duration is a time between two others, ends included. The pointer stays nil as long as
// nothing is written.
func Duration(to **time.Duration, least, most time.Duration) Value {
	return scalar(lasting(least, most), func(s string) {
		if d, err := time.ParseDuration(s); err == nil { // it was read before
			*to = &d
		}
	})
}

// Size is a number of bytes between two others, ends included. The pointer stays nil as
// long as nothing is written.
func Size(to **execution.Bytes, least, most execution.Bytes) Value {
	return scalar(sized(least, most), func(s string) {
		if b, err := execution.ParseBytes(s); err == nil { // it was read before
			*to = &b
		}
	})
}

// List is any number of values. A flag is repeated for several.
func List(to *[]string, k Kind) Value {
	return Items(k, func(items []Item) { *to = texts(items) })
}

// CommaList is a list of which one flag may hold several, separated by commas.
func CommaList(to *[]string, k Kind) Value {
	v := List(to, k)
	v.commas = true
	return v
}

// Items is a list for whoever has to know where each value was written.
func Items(k Kind, put func([]Item)) Value { return Value{Kind: k, list: true, put: put} }

// OrInline is a list of files in whose place gearbox.yaml may hold a mapping: then the value
// is the path of gearbox.yaml itself, where whoever reads such files finds it. So the content,
// which may be secret, never becomes a value of a setting.
func (v Value) OrInline() Value {
	v.inline = true
	return v
}

func texts(items []Item) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.Text)
	}
	return out
}

// schemaOf is the schema of the value in the file.
func (v Value) schemaOf() *jsonschema.Schema {
	if !v.list {
		return v.schema()
	}
	types := []string{"array", "null"}
	if v.inline {
		types = append(types, "object")
	}
	return &jsonschema.Schema{Types: types, Items: v.schema()}
}

// typeName is what may be written, for people.
func (v Value) typeName() string {
	switch {
	case v.inline:
		return "list: " + v.name + "; or a mapping"
	case v.list:
		return "list: " + v.name
	}
	return v.name
}

// split takes the values of a list apart that stand in one variable: one a line, or
// separated by commas that are in no brackets, since rules hold commas in theirs.
func split(s string) []string {
	depth, cut := 0, ','
	if strings.Contains(strings.TrimSpace(s), "\n") {
		cut = '\n'
	}
	parts := strings.FieldsFunc(s, func(c rune) bool {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		}
		return c == cut && (depth <= 0 || cut == '\n')
	})
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}
