package analysis_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
)

func TestSourceLinesShowWhatCannotBeSeen(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		line int
		want string
	}{
		"plain":             {"a = 1\n\tb = 2\n", 2, "\tb = 2"},
		"last without feed": {"a\nb", 2, "b"},
		"no such line":      {"a\nb", 3, ""},
		"line zero":         {"a", 0, ""},
		"bidi override":     {"x = '\u202e\u2066'", 1, `x = '\u202e\u2066'`},
		"zero width":        {"a\u200bb\ufeff", 1, `a\u200bb\ufeff`},
		"line separator":    {"a\u2028b\nc", 1, `a\u2028b`},
		"next line":         {"a\u0085b", 1, `a\x85b`},
		"form feed, return": {"a\fb\rc", 1, `a\x0cb\x0dc`},
		"terminal escape":   {"\x1b[2J", 1, `\x1b[2J`},
		"tag characters":    {"a\U000e0041", 1, `a\U000e0041`},
		"private use":       {"\ue000", 1, `\ue000`},
		"hangul filler":     {"\u3164", 1, `\u3164`},
		"bytes":             {"a\xffb", 1, `a\xffb`},
		"replacement":       {"a\ufffdb", 1, "a\ufffdb"},
		"emoji family":      {"'👩\u200d👧'", 1, "'👩\u200d👧'"},
	} {
		if got := analysis.SourceLine(c.code, c.line); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestALongLineIsCut(t *testing.T) {
	got := analysis.SourceLine(strings.Repeat("é", 10_000), 1)
	if n := utf8.RuneCountInString(got); n != 401 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters are shown", n)
	}
}

func FuzzVisibleTextHasNothingHidden(f *testing.F) {
	f.Add("a\u202eb\x1b\xff")
	f.Fuzz(func(t *testing.T, text string) {
		shown := analysis.Visible(text)
		if !utf8.ValidString(shown) {
			t.Fatalf("%q is not UTF-8", shown)
		}
		for _, r := range shown {
			if r != '\t' && r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Fatalf("%U is left in %q", r, shown)
			}
		}
	})
}

func TestSourceLimitsNameTheBoundThatIsExceeded(t *testing.T) {
	for name, c := range map[string]struct {
		code              string
		characters, lines int
		rule              string
	}{
		"within":         {"é\né", 3, 2, ""},
		"characters":     {"éééé", 3, 0, "source.characters: 3"},
		"lines":          {"a\nb\nc", 0, 2, "source.lines: 2"},
		"feed at end":    {"a\nb\n", 0, 2, ""},
		"no bounds":      {strings.Repeat("x\n", 1000), 0, 0, ""},
		"empty":          {"", 1, 1, ""},
		"separator only": {"a\u2028b\u2028c", 0, 1, ""},
	} {
		v := analysis.SourceLimits(c.code, c.characters, c.lines)
		if (v == nil) != (c.rule == "") || (v != nil && v.Rule != c.rule) {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}
