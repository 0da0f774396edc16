package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// files reports the paths among the arguments of a program. Only a path that
// begins outside the workspace is told: a relative one is in the workspace, and
// a word that merely looks like a path is not worth an alarm.
func (s *script) files(base string, arguments []arg) {
	if isTextual(base) {
		return
	}
	skip := patterns(base, arguments)
	effect := effectOf(base, arguments)
	last := lastOperand(arguments)
	for i, a := range arguments {
		kind := policy.Read
		if effect == writesAll || (effect == writesLast && i == last) {
			kind = policy.Write
		}
		switch {
		case i == skip, i > 0 && takesPattern(base) && arguments[i-1].text == "-e":
		case strings.HasPrefix(a.text, "-"):
			s.optionPath(base, a, arguments[i+1:])
		case base == "dd":
			s.ddPath(a)
		default:
			s.path(kind, a, base)
		}
	}
}

// path reports a constant path that is not below the workspace by its spelling.
func (s *script) path(kind policy.Kind, a arg, via string) {
	if a.known && isOutside(a.text) {
		s.add(kind, a.text, via, a.at)
	}
}

// file reports the first operand as a path, wherever it lies.
func (s *script) file(kind policy.Kind, arguments []arg, via string) {
	if len(arguments) > 0 && arguments[0].known && arguments[0].text != "" && arguments[0].text != "-" {
		s.add(kind, arguments[0].text, via, arguments[0].at)
	}
}

func isOutside(text string) bool {
	switch {
	case text == "~" || strings.HasPrefix(text, "~/"):
		return true
	case strings.HasPrefix(text, "//"), strings.ContainsAny(text, "\n\x00"):
		return false
	case strings.HasPrefix(text, "/"):
		return true
	}
	clean := path.Clean(text)
	return clean == ".." || strings.HasPrefix(clean, "../")
}

// effect says which operands of a program it writes.
type effect int

const (
	readsAll effect = iota
	writesAll
	writesLast
)

func effectOf(base string, arguments []arg) effect {
	switch base {
	case "rm", "rmdir", "mkdir", "mkfifo", "mknod", "touch", "tee", "truncate", "shred", "unlink", "chmod", "chown", "chgrp", "mv", "gzip",
		"gunzip", "bzip2", "bunzip2", "xz", "unxz", "mkfs", "setfacl", "chattr", "fallocate", "patch", "sponge":
		return writesAll
	case "cp", "ln", "link", "install", "rsync", "scp", "split", "csplit", "mount":
		return writesLast
	case "sed", "gsed", "perl":
		for _, a := range arguments {
			if strings.HasPrefix(a.text, "-i") || strings.HasPrefix(a.text, "--in-place") {
				return writesAll
			}
		}
	}
	return readsAll
}

func lastOperand(arguments []arg) int {
	for i := len(arguments) - 1; i >= 0; i-- {
		if !strings.HasPrefix(arguments[i].text, "-") {
			return i
		}
	}
	return -1
}

// isTextual lists programs whose operands are no files, whatever they look like.
func isTextual(base string) bool {
	switch base {
	case "echo", "printf", "basename", "dirname", "expr", "seq", "tr", "date", "sleep", "kill", "test", "[", "true", "false", "yes",
		"which", "whoami", "id", "uname", "factor", "bc", "numfmt", "getopt", "pathchk", "logger", "curl", "wget", "git", "ssh":
		return true
	}
	return false
}

// patterns is the place of the operand that is a pattern or a program, or -1.
func patterns(base string, arguments []arg) int {
	if !takesPattern(base) {
		return -1
	}
	valued := "fFvel"
	if strings.HasSuffix(base, "grep") {
		valued = "efmABC"
	}
	for i := 0; i < len(arguments); i++ {
		text := arguments[i].text
		switch {
		case text == "-e" || text == "-f" || strings.HasPrefix(text, "--regexp") || strings.HasPrefix(text, "--expression") || strings.HasPrefix(text, "--file"):
			return -1
		case len(text) == 2 && text[0] == '-' && strings.IndexByte(valued, text[1]) >= 0 && arguments[i].known:
			i++
		case strings.HasPrefix(text, "-") && text != "-":
		default:
			return i
		}
	}
	return -1
}

func takesPattern(base string) bool {
	switch base {
	case "grep", "egrep", "fgrep", "zgrep", "rg", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "jq", "ack", "perl":
		return true
	}
	return false
}

// optionPath reports the paths in options that name a file: --output=/x, -o /x.
func (s *script) optionPath(base string, a arg, rest []arg) {
	if option, value, ok := strings.Cut(a.text, "="); ok {
		kind := policy.Read
		if strings.Contains(option, "out") || strings.Contains(option, "log") {
			kind = policy.Write
		}
		s.path(kind, arg{value, a.known, a.word, a.at}, base+" "+option)
		return
	}
	if (base == "sort" || base == "gcc" || base == "unzip" || base == "jar") && a.text == "-o" && len(rest) > 0 {
		s.path(policy.Write, rest[0], base+" -o")
	}
}

func (s *script) ddPath(a arg) {
	if to, ok := strings.CutPrefix(a.text, "of="); ok && a.known {
		s.add(policy.Write, to, "dd of=", a.at)
	}
	if from, ok := strings.CutPrefix(a.text, "if="); ok && a.known {
		s.add(policy.Read, from, "dd if=", a.at)
	}
}

// body is the text of a here-document: as it stands when its delimiter is quoted.
func (s *script) body(delimiter, body *syntax.Word) (string, bool) {
	if body != nil && delimiter.Lit() != "" && !strings.Contains(delimiter.Lit(), `\`) {
		return s.document(body, delimiter.Pos().Offset())
	}
	if body == nil {
		return "", true
	}
	var b strings.Builder
	for _, part := range body.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		b.WriteString(lit.Value)
	}
	return b.String(), true
}
