// Package visible writes text so that whoever reads it sees all that is in it: what does
// not show on a screen, or shows as something else, is written as its code point between
// angle brackets, ⟨U+202E⟩.
//
// A person who approves a program approves its bytes and sees their picture. Different
// texts therefore have to have different pictures. An escape with a backslash would not
// do: in code a backslash escape stands for itself already, and marking every backslash
// would spoil most programs. The bracket ⟨ hardly occurs in code, so it is always escaped
// itself, with its look-alikes: what begins with ⟨ was put there by this package.
//
// Escaped are control characters, tab and lone CR among them, separators of lines other
// than LF, spaces other than the plain one, and a plain one that ends a line; marks of
// direction, characters of no width, tags, variation selectors and whatever else Unicode
// has ignored by default; private and unassigned code points; bytes that are no UTF-8; what
// is not in normal form (NFC), such as U+037E, which looks like a semicolon and always equals
// one; and marks that would lie upon something else than a letter. All the rest is kept byte
// for byte. Letters of different scripts that look alike are kept too, and so is the order in
// which a terminal shows Hebrew and Arabic ones.
//
// Only the writing of text belongs here; what is shown, and where, does not.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	opening = '⟨'
	closing = '⟩'
)

// Text shows text of any number of lines. Line ends stay.
func Text(s string) string { return show(s, true) }

// Line shows text on one line: line ends are escaped too.
func Line(s string) string { return show(s, false) }

// JSON is the same JSON text with what does not show escaped in the way of its strings, where
// alone such characters stand. Only the characters count here, not what they lie upon: JSON
// is read by programs, and what prints it is to obey none of it.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == ' ' || shows(r) || strings.ContainsRune(brackets, r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

func show(s string, lines bool) string {
	if plain(s, lines) {
		return s
	}
	w := writer{lines: lines}
	for len(s) > 0 {
		n := norm.NFC.NextBoundaryInString(s, true)
		if n <= 0 {
			n = len(s)
		}
		w.segment(s[:n], s[n:])
		s = s[n:]
	}
	return w.String()
}

// plain is the common case: printable ASCII.
func plain(s string, lines bool) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n' && lines, ' ' < c && c < 0x7f:
		case c == ' ' && !ends(s[i+1:]):
		default:
			return false
		}
	}
	return true
}

// ends reports whether a line ends before rest.
func ends(rest string) bool { return rest == "" || rest[0] == '\n' || rest[0] == '\r' }

// mostMarks is how many marks may lie upon one letter: more than any script needs, and too
// few to cover other lines.
const mostMarks = 4

type writer struct {
	strings.Builder

	lines bool
	// begun tells that there is a character for marks to lie upon, and marks how many do.
	begun bool
	marks int
}

// segment writes characters that normal form looks at together.
func (w *writer) segment(s, rest string) {
	normal := norm.NFC.IsNormalString(s)
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			w.escape(fmt.Sprintf("0x%02X", s[0]))
		case r == '\n' && w.lines:
			w.WriteByte('\n')
			w.begun = false
		case r == '\t':
			w.escape("TAB")
		case r == ' ' && (n < len(s) && !ends(s[n:]) || n == len(s) && !ends(rest)):
			w.WriteByte(' ')
			w.begun = false
		case shows(r) && (normal || r < utf8.RuneSelf) && w.takes(r):
			w.WriteRune(r)
		default:
			w.escape(fmt.Sprintf("U+%04X", r))
		}
		s = s[n:]
	}
}

// takes reports whether a character can stand where it stands.
func (w *writer) takes(r rune) bool {
	if !unicode.IsMark(r) {
		w.begun, w.marks = true, 0
		return true
	}
	w.marks++
	return w.begun && w.marks <= mostMarks
}

func (w *writer) escape(name string) {
	w.WriteRune(opening)
	w.WriteString(name)
	w.WriteRune(closing)
	w.begun = false
}

// shows reports whether a character has a picture of its own.
func shows(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!strings.ContainsRune(blanks+brackets, r)
}

const (
	// blanks are symbols and letters without a picture: what stands for an object, braille
	// without dots, a note without a head, fillers of Khitan and of hieroglyphs.
	blanks = "\ufffc\u2800\U0001d159\U00016fe4\U00013441\U00013442"
	// brackets are those that an escape could be forged with.
	brackets = "⟨\u2329\u3008\u276c\u2770\u29fc\u2039\ufe3f\u276e"
)
