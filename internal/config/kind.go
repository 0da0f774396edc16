package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
)

// Kind is how one value is written, wherever it stands.
type Kind struct {
	name   string // for the documentation
	form   form
	words  []string
	schema func() *jsonschema.Schema
	// read checks a text and gives it the one form in which equal values are equal. The
	// error's words follow the setting's name.
	read func(text string) (string, error)
	// place makes a path of a file independent of where it is read; nil for no path.
	place func(dir, text string) string
	// secretive keeps errors from repeating what was written.
	secretive bool
}

// form is what a value looks like in YAML.
type form int

const (
	formText form = iota
	formNumber
	formTruth
	formSize // a number of bytes, or text with a unit
	formTime
)

func (f form) String() string {
	return [...]string{"text", "a whole number", "true or false", "a size", "a time such as 90s"}[f]
}

// longestText bounds one value. Paths are at most 4,096 bytes long, rules twice that.
const longestText = 8 << 10

// accept reads a text of whatever kind.
func (k Kind) accept(text string) (string, error) {
	switch err := misread(text); {
	case err != nil && k.secretive:
		return "", errors.New("is not " + k.name)
	case err != nil:
		return "", err
	}
	return k.read(text)
}

// misread finds what no kind of value holds.
func misread(text string) error {
	switch {
	case len(text) > longestText:
		return fmt.Errorf("is longer than %d bytes", longestText)
	case !utf8.ValidString(text):
		return fmt.Errorf("%q: this is no UTF-8", text)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%q: a line break or another control character is in it: remove it", text)
	}
	return nil
}

func anything(what string) func(string) (string, error) {
	return func(s string) (string, error) {
		if s == "" {
			return "", fmt.Errorf("is empty: name %s, or leave it out", what)
		}
		return s, nil
	}
}

func filledSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
}

// Named is a text that check judges; nil accepts whatever is not empty. The error's words
// follow the text. name is what it is, for people: "the name of a module".
func Named(name string, check func(string) error) Kind {
	return Kind{name: name, schema: filledSchema, read: func(s string) (string, error) {
		if s, err := anything(name)(s); err != nil || check == nil {
			return s, err
		}
		if err := check(s); err != nil {
			return "", fmt.Errorf("%q: %w", s, err)
		}
		return s, nil
	}}
}

// Secretive is [Named] for what people could take for the place of a secret: the error does
// not repeat what was written.
func Secretive(name string, check func(string) error) Kind {
	k := Named(name, nil)
	k.secretive = true
	filled := k.read
	k.read = func(s string) (string, error) {
		s, err := filled(s)
		if err == nil {
			err = check(s)
		}
		if err != nil {
			return "", err
		}
		return s, nil
	}
	return k
}

// AnyPath is a path. In a file it counts from the file's directory.
func AnyPath() Kind {
	return Kind{name: "path", schema: filledSchema, read: anything("a path"), place: func(dir, s string) string {
		s = home(s)
		if dir == "" || s == "" || filepath.IsAbs(s) {
			return s
		}
		return filepath.Join(dir, s)
	}}
}

// NameOrPath is a path if it holds a dot or a separator, and otherwise a name.
func NameOrPath() Kind {
	k := AnyPath()
	k.name, k.read = "name or path", anything("one")
	of := k.place
	k.place = func(dir, s string) string {
		if !strings.ContainsAny(s, `/\.`) {
			return s
		}
		return of(dir, s)
	}
	return k
}

// home replaces a leading ~, which no shell does for a file.
func home(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
		return path
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(dir, rest)
}

// OneOf is one of some words.
func OneOf(words ...string) Kind {
	return Kind{
		name: strings.Join(words, ", "), words: words,
		schema: func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: anys(words)} },
		read: func(s string) (string, error) {
			if slices.Contains(words, s) {
				return s, nil
			}
			return "", fmt.Errorf("%q: not one of %s%s", s, strictyaml.List(words), nearest(s, words))
		},
	}
}

func nearest(word string, words []string) string {
	if hint := strictyaml.DidYouMean(word, words); strings.HasPrefix(hint, "did") {
		return ": " + hint
	}
	return ""
}

func anys(words []string) []any {
	out := make([]any, 0, len(words))
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

func truth() Kind {
	return Kind{
		name: "true or false", form: formTruth,
		schema: func() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} },
		read: func(s string) (string, error) {
			b, err := strconv.ParseBool(s)
			if err != nil {
				return "", fmt.Errorf("%q: write true or false", s)
			}
			return strconv.FormatBool(b), nil
		},
	}
}

func whole(least, most int) Kind {
	return Kind{
		name: fmt.Sprintf("number from %d to %d", least, most), form: formNumber,
		schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(float64(least)), Maximum: jsonschema.Ptr(float64(most))}
		},
		read: func(s string) (string, error) {
			n, err := strconv.Atoi(s)
			switch {
			case err != nil:
				return "", fmt.Errorf("%q: this is no number: accepted are %d to %d", s, least, most)
			case n < least || n > most:
				return "", fmt.Errorf("%d: accepted are %d to %d", n, least, most)
			}
			return strconv.Itoa(n), nil
		},
	}
}

func lasting(least, most time.Duration) Kind {
	return Kind{
		name: fmt.Sprintf("time from %s to %s", shortTime(least), shortTime(most)), form: formTime,
		schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "string", Pattern: `^\+?([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+$`}
		},
		read: func(s string) (string, error) {
			d, err := time.ParseDuration(s)
			switch {
			case err != nil:
				return "", fmt.Errorf("%q: this is no time such as 90s, 5m or 1h", s)
			case d < least || d > most:
				return "", fmt.Errorf("%v: accepted are %v to %v", d, least, most)
			}
			return shortTime(d), nil
		},
	}
}

// shortTime leaves out the zeros that [time.Duration.String] writes: 5m, not 5m0s.
func shortTime(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func sized(least, most execution.Bytes) Kind {
	return Kind{
		name: fmt.Sprintf("size from %s to %s", least, most), form: formSize,
		schema: func() *jsonschema.Schema { return &jsonschema.Schema{Types: []string{"string", "integer"}} },
		read: func(s string) (string, error) {
			b, err := execution.ParseBytes(s)
			switch {
			case err != nil:
				return "", fmt.Errorf("%q: this is no size such as 64 MiB or 10g", s)
			case b < least || b > most:
				return "", fmt.Errorf("%s: accepted are %s to %s", s, least, most)
			}
			return strconv.FormatInt(int64(b), 10), nil
		},
	}
}
