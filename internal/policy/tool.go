package policy

import (
	"strings"
	"unicode/utf8"
)

// toolPattern matches server.tool. The name of a tool is its server's to choose, dots and
// slashes among it: what stands for a part of it stands for any text, so that no choice of
// a name leads around a rule.
type toolPattern struct{ server, tool string }

func newTool(p string) (matcher, *RuleError) {
	server, tool, found := strings.Cut(p, ".")
	switch {
	case !found:
		return nil, broken("write tool("+p+".*) for all of a server's tools", "%q names no tool", p)
	case server == "":
		return nil, broken("write *. for every server", "%q names no server", p)
	case tool == "":
		return nil, broken("write "+p+"* for all of a server's tools", "%q names no tool", p)
	}
	return toolPattern{server, tool}, nil
}

// covers: a star for a server stays within one part of its name, because more could be the
// beginning of the name of a tool.
func (m toolPattern) covers(target string) bool {
	if unknown(target) {
		return false
	}
	if m.server == cross {
		return Wild("*."+m.tool, target)
	}
	server, tool, found := strings.Cut(target, ".")
	return found && Wild(m.server, server) && Wild(m.tool, tool)
}

// touches takes a star for any text, wherever it stands: which of the dots ends the name of
// the server nobody can see.
func (m toolPattern) touches(target string) bool {
	return open(target) || Wild(m.server+"."+m.tool, target)
}

// Wild compares a text with a pattern in which * stands for any characters and ? for one.
func Wild(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		c, size := utf8.DecodeRuneInString(text[t:])
		want, width := utf8.DecodeRuneInString(pattern[p:])
		switch {
		case want == '*' && width > 0:
			star, mark = p, t
			p++
		case width > 0 && (want == '?' || pattern[p:p+width] == text[t:t+size] && want == c):
			p, t = p+width, t+size
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(text[mark:])
			mark += skipped
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// ToolRule is the rule for the tools of one server whose names fit a pattern as [Wild] has
// it. What a rule cannot hold stands in it as any one character. The error is a *[RuleError].
func ToolRule(server, pattern string) (Rule, error) {
	if pattern == "" {
		return Rule{}, broken("write * for every tool", "an empty pattern")
	}
	return ParseRule(string(Tool) + "(" + writable(server) + "." + writable(pattern) + ")")
}

func writable(s string) string {
	inner := strings.TrimSpace(s)
	lead := strings.Index(s, inner)
	out := strings.Map(func(r rune) rune {
		if strings.ContainsRune(",{}", r) || checkText(string(r)) != nil {
			return '?'
		}
		return r
	}, inner)
	blank := func(s string) string { return strings.Repeat("?", utf8.RuneCountInString(s)) }
	return blank(s[:lead]) + out + blank(s[lead+len(inner):])
}

// plainTool reports whether the name of a tool can be put into a rule that stands for
// nothing else, and into a command line that does nothing else.
func plainTool(target string) bool { return !strings.ContainsAny(target, "*?,{}()'\"`\\$;&|<>") }
