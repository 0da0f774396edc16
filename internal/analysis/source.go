package analysis

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// maxShown bounds a line that is shown, in characters.
const maxShown = 400

// SourceLimits reports how the source exceeds a bound, or nil. A bound of 0 is none.
func SourceLimits(code string, characters, lines int) *execution.Violation {
	if n := utf8.RuneCountInString(code); characters > 0 && n > characters {
		return &execution.Violation{
			Rule:       fmt.Sprintf("source.characters: %d", characters),
			Permission: fmt.Sprintf("source(%d characters)", n),
			Hint:       fmt.Sprintf("Shorten the source to %d characters, or do the work in several calls.", characters),
		}
	}
	if n := Lines(code); lines > 0 && n > lines {
		return &execution.Violation{
			Rule:       fmt.Sprintf("source.lines: %d", lines),
			Permission: fmt.Sprintf("source(%d lines)", n),
			Line:       lines + 1,
			Source:     SourceLine(code, lines+1),
			Hint:       fmt.Sprintf("Shorten the source to %d lines, or do the work in several calls.", lines),
		}
	}
	return nil
}

// Lines counts lines as Python does: by line feeds, with or without one at the end.
func Lines(code string) int {
	n := strings.Count(code, "\n")
	if code != "" && !strings.HasSuffix(code, "\n") {
		n++
	}
	return n
}

// SourceLine is one line of the source, made safe to show to a person. Only line
// feeds divide lines, as for Python; every character that would reorder, hide or
// break the line elsewhere is written out (\u202e). It is empty when there is no
// such line. Lines count from 1.
func SourceLine(code string, line int) string {
	if line < 1 {
		return ""
	}
	for ; line > 1; line-- {
		_, rest, found := strings.Cut(code, "\n")
		if !found {
			return ""
		}
		code = rest
	}
	text, _, _ := strings.Cut(code, "\n")
	return Visible(text)
}

// Visible writes out what a reader could not see, and cuts what is too long to
// be read. A tab stays; a carriage return and a line feed do not.
func Visible(text string) string {
	var b strings.Builder
	shown := 0
	for i, r := range text {
		if shown++; shown > maxShown {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case r == '\t' || isVisible(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, "\\x%02x", r)
		case r < 0x10000:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			fmt.Fprintf(&b, "\\U%08x", r)
		}
	}
	return b.String()
}

// isVisible is false for controls, for separators that end a line in some places
// and not in others, and for format characters (bidirectional controls, invisible
// operators, tags: CVE-2021-42574) except the joiners, which emoji, Persian and
// Indic text are made of.
func isVisible(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return true
	case '\u2028', '\u2029', '\u115f', '\u1160', '\u3164', '\uffa0':
		return false // Hangul fillers are letters without a shape
	}
	return !unicode.Is(unicode.Cc, r) && !unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Co, r)
}
