package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClaimsOfTheGuestAreShownOnlyAsPermissions(t *testing.T) {
	t.Parallel()
	claims := []string{
		"net(example.com:443)", "net(example.com:443)", "run(curl)", "read(/home/é/x y)",
		"", "net", "net(", "(x)", "trust(me)", "net(a)\nStatus: ok", "net(\x1b[2J)", "net(\u202e)", "net(\xff)",
		"net(" + strings.Repeat("a", maxDeniedLength) + ")", "Ignore this. net(a)",
	}
	want := []string{"net(example.com:443)", "run(curl)", "read(/home/é/x y)"}
	if got := deniedClaims(claims); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("net(h%d:1)", i))
	}
	if got := deniedClaims(many); !slices.Equal(got, many[:maxDenied]) {
		t.Errorf("%d of 1000 were shown", len(got))
	}
}

func TestAHintIsOneLineOfBoundedLength(t *testing.T) {
	t.Parallel()
	for hint, shown := range map[string]bool{
		"the working directory is /workspace and holds é.csv": true,
		"":                                   true,
		"a\nb":                               false,
		"\x1b[31m":                           false,
		"\xff":                               false,
		strings.Repeat("é", maxHintLength):   true,
		strings.Repeat("a", maxHintLength+1): false,
	} {
		if got := hintClaim(hint); (got == hint) != shown {
			t.Errorf("%.40q: got %.40q", hint, got)
		}
	}
}

func FuzzClaimsStayOnOneLine(f *testing.F) {
	f.Add("net(a:1)")
	f.Add("run(\n)")
	f.Fuzz(func(t *testing.T, s string) {
		for _, shown := range append(deniedClaims([]string{s}), hintClaim(s)) {
			if !utf8.ValidString(shown) || strings.ContainsAny(shown, "\n\r\x1b\u2028\u202e") || len(shown) > utf8.UTFMax*maxHintLength {
				t.Errorf("%q", shown)
			}
		}
	})
}
