package gear

import (
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// ErrUnknown is wrapped by errors about a gear that does not exist.
var ErrUnknown = errors.New("unknown gear")

// ErrIsolation is wrapped by the error of a call that names a gear without
// isolation while the server's own gear has one.
var ErrIsolation = errors.New("gear without isolation")

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

// didYouMean is the hint that names the nearest word, or all of them.
func didYouMean(word string, words []string) string {
	if near := policy.Nearest(word, words); near != "" {
		return "did you mean " + near + "?"
	}
	return "use one of " + list(words)
}
