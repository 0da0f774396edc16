package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// fileWhole is a file in the form of --json, with all that is in it.
type fileWhole struct {
	fileShown

	SHA256 string `json:"sha256"`
	// Text is what is in it, or Base64 if that is no UTF-8.
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

func wholeFile(f execution.File) fileWhole {
	w := fileWhole{fileShown: fileShown{f.Path, execution.Bytes(len(f.Data))}, SHA256: hashOf(f.Data)}
	if utf8.Valid(f.Data) {
		w.Text = new(string(f.Data))
	} else {
		w.Base64 = f.Data
	}
	return w
}

// mostFiles is how much of all files together is printed with a question, in bytes, of which
// no one file has more than [mostInput].
const mostFiles = 4 * mostInput

// files prints those that came with a call: what a person can read as it is, and of the rest
// how to see it. A file is printed whole or not at all.
func (p picture) files(id execution.ID, all []execution.File) {
	room := mostFiles
	for i, f := range all {
		if i == 0 {
			p.printf("\nfiles:\n")
		}
		p.wrapped("  ", "  : ", fmt.Sprintf("%s, %v, sha256:%s", visible.Line(f.Path), execution.Bytes(len(f.Data)), hashOf(f.Data)))
		why := ""
		switch {
		case !utf8.Valid(f.Data) || bytes.IndexByte(f.Data, 0) >= 0:
			why = "it is no text"
		case len(f.Data) > mostInput:
			why = "it is long"
		case len(f.Data) > room:
			why = "all of them are long"
		case len(f.Data) > 0:
			p.text(string(f.Data), "    | ", "    : ")
			room -= len(f.Data)
		}
		if why != "" {
			p.wrapped("    ", "    : ", fmt.Sprintf("%s: gearbox approvals show %s --file %s prints it", why, id, visible.Line(shellQuote(f.Path))))
		}
	}
}

// text prints lines that somebody else has written behind a margin.
func (p picture) text(text, first, more string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(visible.Text(text), "\n"), "\n") {
		p.wrapped(first, more, line)
	}
}
