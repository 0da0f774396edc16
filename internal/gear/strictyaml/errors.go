package strictyaml

import (
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// FileError is one mistake in a file, with its place and how to mend it. Line
// and Column count from 1; both are 0 when the file as a whole is at fault.
type FileError struct {
	File         string
	Line, Column int
	Message      string
	Hint         string
}

func (e *FileError) Error() string {
	s := e.File + ": " + e.Message
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	}
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// DidYouMean is the hint that names the nearest word, or all of them.
func DidYouMean(word string, words []string) string {
	if near := policy.Nearest(word, words); near != "" {
		return "did you mean " + near + "?"
	}
	return "use one of " + List(words)
}

// List writes words as an enumeration.
func List(words []string) string { return strings.Join(words, ", ") }
