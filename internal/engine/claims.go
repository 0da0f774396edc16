package engine

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Bounds of what a guest says beside the program's own words. It is an aid to
// whoever reads the answer: the program can forge it, so it is kept small and on
// one line, and nothing is decided by it.
const (
	maxDenied       = 32
	maxDeniedLength = 300
	maxHintLength   = 2000 // characters
)

// deniedClaims are the permissions that the program is said to have lacked.
// Whatever is not written as a permission is left out.
func deniedClaims(claims []string) []string {
	var out []string
	for _, c := range claims {
		if len(out) == maxDenied {
			break
		}
		if isPermission(c) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

func isPermission(s string) bool {
	kind, rest, ok := strings.Cut(s, "(")
	return ok && len(s) <= maxDeniedLength && strings.HasSuffix(rest, ")") &&
		slices.Contains(policy.Kinds(), policy.Kind(kind)) && oneLine(s)
}

// hintClaim is a hint that is fit to be shown, or nothing.
func hintClaim(s string) string {
	if utf8.RuneCountInString(s) > maxHintLength || !oneLine(s) {
		return ""
	}
	return s
}

func oneLine(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
