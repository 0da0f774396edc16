package visible_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

func TestWhatDoesNotShowIsWrittenOut(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain code":            {"if a < b:\n    print('x\\u202e')\n", "if a < b:\n    print('x\\u202e')\n"},
		"other scripts":         {"name = 'Zoë, Ἀθῆναι, שלום, 東京, हिन्दी, 한국어, 🎉'", "name = 'Zoë, Ἀθῆναι, שלום, 東京, हिन्दी, 한국어, 🎉'"},
		"lone CR":               {"safe()\revil()", "safe()⟨U+000D⟩evil()"},
		"line separator":        {"a\u2028b\u2029c", "a⟨U+2028⟩b⟨U+2029⟩c"},
		"form feed":             {"a\fb\vc", "a⟨U+000C⟩b⟨U+000B⟩c"},
		"escape sequence":       {"\x1b[2Jx\u009b1m", "⟨U+001B⟩[2Jx⟨U+009B⟩1m"},
		"tab":                   {"\tx", "⟨TAB⟩x"},
		"bidi override":         {"a\u202eb\u2066c\u200fd\u061ce", "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200F⟩d⟨U+061C⟩e"},
		"no width":              {"a\u200bb\u200dc\ufeffd\u2060e\u00adf", "a⟨U+200B⟩b⟨U+200D⟩c⟨U+FEFF⟩d⟨U+2060⟩e⟨U+00AD⟩f"},
		"tags":                  {"x\U000e0041\U000e0001", "x⟨U+E0041⟩⟨U+E0001⟩"},
		"variation selector":    {"❤\ufe0f", "❤⟨U+FE0F⟩"},
		"other spaces":          {"a\u00a0b\u3000c\u2003d", "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2003⟩d"},
		"fillers":               {"\u3164\uffa0\u115f\u2800", "⟨U+3164⟩⟨U+FFA0⟩⟨U+115F⟩⟨U+2800⟩"},
		"private use":           {"\ue000\U0010fffd", "⟨U+E000⟩⟨U+10FFFD⟩"},
		"unassigned":            {"\u0378\uffff", "⟨U+0378⟩⟨U+FFFF⟩"},
		"no UTF-8":              {"a\xffb", "a⟨0xFF⟩b"},
		"space at the end":      {"echo a \\ \necho b", "echo a \\⟨U+0020⟩\necho b"},
		"forged escape":         {"⟨U+202E⟩ 〈U+202E〉", "⟨U+27E8⟩U+202E⟩ ⟨U+3008⟩U+202E〉"},
		"forged backslash":      {`\u202e`, `\u202e`},
		"Greek question mark":   {"a\u037eb", "a⟨U+037E⟩b"},
		"not in normal form":    {"e\u0301 \u212b", "e⟨U+0301⟩ ⟨U+212B⟩"},
		"a mark upon nothing":   {"\u0307a \u0307=\u0338", "⟨U+0307⟩a ⟨U+0307⟩=⟨U+0338⟩"},
		"a mark after a line":   {"a\n\u0307b", "a\n⟨U+0307⟩b"},
		"a pile of marks":       {"x" + strings.Repeat("\u0337", 6), "x" + strings.Repeat("\u0337", 4) + strings.Repeat("⟨U+0337⟩", 2)},
		"a mark upon an escape": {"\u200b\u0307", "⟨U+200B⟩⟨U+0307⟩"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := visible.Text(c.in); got != c.want {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

func TestALineStaysOne(t *testing.T) {
	if got := visible.Line("a\nb "); got != "a⟨U+000A⟩b⟨U+0020⟩" {
		t.Errorf("%q", got)
	}
}

// read is what a text was that is shown: the inverse, which only a picture that belongs
// to one text alone has.
func read(t *testing.T, shown string) string {
	t.Helper()
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(shown, "⟨")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, found := strings.Cut(rest, "⟩")
		if !found {
			t.Fatalf("an escape without an end: %q", shown)
		}
		shown = after
		switch digits, isByte := strings.CutPrefix(name, "0x"); {
		case name == "TAB":
			b.WriteByte('\t')
		case isByte:
			raw, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(raw)
		default:
			n, err := strconv.ParseInt(strings.TrimPrefix(name, "U+"), 16, 32)
			if err != nil {
				t.Fatalf("the escape %q: %v", name, err)
			}
			b.WriteRune(rune(n))
		}
	}
}

func FuzzJSONStaysWhatItMeans(f *testing.F) {
	for _, s := range []string{"plain", "a\u202eb\u2028\x7f\u009b", "\U000e0041⟨", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain, err := json.Marshal(map[string]string{"text": s})
		if err != nil {
			t.Fatal(err)
		}
		shown := visible.JSON(plain)
		var before, after map[string]string
		if err := errors.Join(json.Unmarshal(plain, &before), json.Unmarshal(shown, &after)); err != nil || before["text"] != after["text"] {
			t.Fatalf("%s became %s: %v", plain, shown, err)
		}
		for _, r := range string(shown) {
			if !unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Co) {
				t.Fatalf("%q holds %U", shown, r)
			}
		}
	})
}

func FuzzWhatIsShownIsAllThereIs(f *testing.F) {
	for _, s := range []string{"print(1)\n", "a\r\nb", "\u202e\u2066⟨U+202E⟩", "e\u0301\u0301", "\xff\xfe", "\U000e0041", "=\u0338 \u0307", "\u1112\u1161\u11ab", "\u0344", "a \t \n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, line := visible.Text(s), visible.Line(s)
		for _, shown := range []string{text, line} {
			if !utf8.ValidString(shown) {
				t.Fatalf("%q is no UTF-8", shown)
			}
			if got := read(t, shown); got != s {
				t.Fatalf("%q is shown as %q, which reads as %q", s, shown, got)
			}
			if !norm.NFC.IsNormalString(shown) {
				t.Fatalf("%q is not in normal form: something else looks the same", shown)
			}
			for _, r := range shown {
				if r != '\n' && (!unicode.IsPrint(r) || unicode.In(r, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf, unicode.Co)) {
					t.Fatalf("%q holds %U", shown, r)
				}
			}
		}
		if strings.Contains(line, "\n") || strings.Contains(text, " \n") || strings.HasSuffix(text, " ") {
			t.Fatalf("%q, %q", text, line)
		}
	})
}
