package catalog

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// ReservedModules are what the package tools itself exports or may come to: no server's
// module is called so.
func ReservedModules() []string {
	return []string{
		"aio", "call", "describe", "help", "parallel", "read", "search", "servers", "tools", "timeout",
		"ApprovalDenied", "ApprovalRequired", "Blob", "CallLimitExceeded", "InvalidArguments", "PolicyDenied",
		"ResourceLink", "ServerUnavailable", "ToolError", "ToolNotFound", "ToolTimeout",
	}
}

// keywords are what Python does not take as a name, by version 3.14. Soft keywords (match,
// case, type, _) are names like others.
var keywords = strings.Fields(`False None True and as assert async await break class continue def del elif else
	except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield
	__debug__`)

// maxName bounds an identifier, in characters: the protocol has names of up to 128.
const maxName = 128

func moduleTaken(name string) bool { return private(name) || slices.Contains(ReservedModules(), name) }

func functionTaken(name string) bool { return private(name) || name == "aio" }

// private reports whether a name is of the sort that the package itself uses inside a module:
// _name and __name__. A digit after the underscore is how a name that begins with one reads.
func private(name string) bool {
	return strings.HasPrefix(name, "__") || len(name) > 1 && name[0] == '_' && !digit([]rune(name)[1])
}

// public is a private name as one that may stand in a module.
func public(name string) string {
	name = strings.Trim(name, "_")
	if name != "" && digit([]rune(name)[0]) {
		return "_" + name
	}
	return name
}

func parameterTaken(string) bool { return false }

// identify gives each name an identifier. Those that are one keep themselves; the others
// follow in the order of their raw names and step aside with _2, _3 and so on.
func identify(raw []string, taken func(string) bool) map[string]string {
	names, used := make(map[string]string, len(raw)), make(map[string]bool, len(raw))
	var others []string
	for _, r := range raw {
		if wanted(r, taken) == r {
			names[r], used[r] = r, true
		} else {
			others = append(others, r)
		}
	}
	slices.Sort(others)
	last := map[string]int{} // numbers that were given, so that many of one name stay cheap
	for _, r := range others {
		base := wanted(r, taken)
		name := base
		for n := max(2, last[base]); used[name]; n++ {
			name, last[base] = numbered(base, n), n
		}
		names[r], used[name] = name, true
	}
	return names
}

// wanted is the identifier that a name would have if it were alone.
func wanted(raw string, taken func(string) bool) string {
	name := identifier(raw)
	if taken(name) && private(name) {
		name = public(name)
	}
	if name == "" || slices.Contains(keywords, name) || taken(name) {
		name += "_"
	}
	return name
}

// identifier writes a name so that Python takes it as one and reads the same one back:
// Python compares identifiers in normal form NFKC.
func identifier(raw string) string {
	var b strings.Builder
	n := 0
	for _, r := range norm.NFKC.String(strings.ToValidUTF8(raw, "_")) {
		if n == maxName {
			break
		}
		switch {
		case n == 0 && unicode.IsDigit(r):
			b.WriteByte('_')
		case !letter(r) && !digit(r):
			r = '_'
		}
		b.WriteRune(r)
		n++
	}
	name := b.String()
	if name == "" {
		return "_"
	}
	if !norm.NFKC.IsNormalString(name) {
		return ascii(name)
	}
	return name
}

// ascii is for the rare name that changes when it is normalised once more.
func ascii(name string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			return r
		}
		return '_'
	}, name)
}

// letter reports whether r may begin an identifier and shows. Marks are left out: some hide,
// and what they lie upon may have been replaced.
func letter(r rune) bool {
	if r < unicode.MaxASCII {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_'
	}
	return unicode.IsLetter(r) && !unicode.Is(unicode.Pattern_Syntax, r) && shows(r) && norm.NFKC.IsNormalString("a"+string(r))
}

func digit(r rune) bool {
	if r < unicode.MaxASCII {
		return '0' <= r && r <= '9'
	}
	return unicode.IsDigit(r) && shows(r) && norm.NFKC.IsNormalString(string(r))
}

// shows reports whether a character has a picture.
func shows(r rune) bool {
	s := "a" + string(r) + "a"
	return visible.Line(s) == s
}

// numbered is a name that steps aside.
func numbered(base string, n int) string {
	return strings.TrimSuffix(base, "_") + "_" + strconv.Itoa(n)
}
