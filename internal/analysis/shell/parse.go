package shell

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
)

const (
	// maxFrames is how deep the stack may be while the parser asks for more text.
	// One $( costs about ten frames; nesting of a hundred is beyond any script.
	maxFrames = 2000
	// piece bounds how much deeper the parser can go between two looks.
	piece = 512
)

var errDeep = errors.New("nested too deeply")

// feed hands text to the parser in pieces and stops when the stack is deep. No
// scan of the text could do this: brackets in comments and quotations make any
// count wrong that does not parse itself.
type feed struct{ rest string }

func (f *feed) Read(p []byte) (int, error) {
	if f.rest == "" {
		return 0, io.EOF
	}
	var deeper [1]uintptr
	if runtime.Callers(maxFrames, deeper[:]) > 0 {
		return 0, errDeep
	}
	n := copy(p[:min(len(p), piece)], f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// parse reads bash. The error is a [syntax.ParseError], or the text nests too deeply.
func parse(text string) (*syntax.File, error) {
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	file, err := p.Parse(&feed{text}, "")
	var lang syntax.LangError
	if errors.As(err, &lang) {
		return nil, syntax.ParseError{Pos: lang.Pos, Text: lang.Error()}
	}
	return file, err
}

// failure is the error as the bridge carries it, in the layout of bash. Its class
// is Python's, so that one word means one thing in every answer.
func (r *report) failure(e syntax.ParseError) *bridge.Exception {
	line, column := r.place(e.Pos.Offset())
	text, _, _ := strings.Cut(r.source[r.lines[line-1]:], "\n")
	message := strings.ToValidUTF8(clip(e.Text, maxTarget), "\ufffd")
	return &bridge.Exception{
		Class: "SyntaxError", Message: message, Line: line, Column: column,
		Text: fmt.Sprintf("<cell>: line %d: syntax error: %s\n<cell>: line %d: `%s'\n",
			line, message, line, strings.ToValidUTF8(clip(text, maxTarget), "\ufffd")),
	}
}
