package catalog

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/catalog/schema"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// quoted is a Python string of exactly that value. What does not show is escaped.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || !unicode.IsMark(r) && shows(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// literal is a Python expression for a JSON value, of at most that many characters.
func literal(n *schema.Node, most int) (string, bool) {
	text := ""
	switch n.Kind {
	case schema.Null:
		text = "None"
	case schema.Bool:
		text = strings.ToUpper(n.Text[:1]) + n.Text[1:]
	case schema.Number:
		text = n.Text
	case schema.String:
		if len(n.Text) > 4*most {
			return "", false
		}
		text = quoted(n.Text)
	case schema.Array:
		if len(n.Items) > 0 {
			return "", false
		}
		text = "[]"
	case schema.Object:
		if len(n.Members) > 0 {
			return "", false
		}
		text = "{}"
	}
	return text, utf8.RuneCountInString(text) <= most
}

// prose is a stranger's text for people and models: all of it that is kept shows, and what
// is cut off is said.
func prose(s string, most int) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(cutBytes(s, most))
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return visible.Text(strings.Trim(strings.Join(lines, "\n"), "\n "))
}

// cutBytes keeps whole characters and names what is missing.
func cutBytes(s string, most int) string {
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s
	}
	return fmt.Sprintf("%s… [cut: %d of %d characters]", cut(s, most), most, n)
}

// cut keeps at most that many characters.
func cut(s string, most int) string {
	for i := range s {
		if most == 0 {
			return s[:i]
		}
		most--
	}
	return s
}

// sentence is the first sentence of a text, on one line.
func sentence(s string) string {
	const least, most = 20, 140
	s = visible.Line(strings.Join(strings.Fields(cut(s, 4*most)), " "))
	n := 0
	for i, r := range s {
		next := s[i+utf8.RuneLen(r):]
		if n++; n >= least && strings.ContainsRune(".!?。", r) && (next == "" || next[0] == ' ' || r == '。') {
			return s[:i+utf8.RuneLen(r)]
		}
		if n == most && next != "" {
			return s[:i+utf8.RuneLen(r)] + "…"
		}
	}
	return s
}

// said is a Python string of a line that shows already, such as a sentence.
func said(line string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(line, `\`, `\\`), `"`, `\"`) + `"`
}

// quotes are those that would end a triple-quoted string.
var quotes = regexp.MustCompile(`"{3,}|"+$`)

// docstring is a triple-quoted string of prose. Nothing in it can end it.
func docstring(text, indent string) string {
	text = quotes.ReplaceAllStringFunc(strings.ReplaceAll(text, `\`, `\\`), func(run string) string {
		return strings.ReplaceAll(run, `"`, `\"`)
	})
	lines := strings.Split(text, "\n")
	for i, line := range lines[1:] {
		if line != "" {
			lines[i+1] = indent + line
		}
	}
	return `"""` + strings.Join(lines, "\n") + `"""`
}

// remark is a comment at the end of a line.
func remark(parts ...string) string {
	var known []string
	for _, part := range parts {
		if part != "" {
			known = append(known, visible.Line(part))
		}
	}
	if len(known) == 0 {
		return ""
	}
	return "  # " + strings.Join(known, ", ")
}
