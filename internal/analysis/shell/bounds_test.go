package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/analysis/shell"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
)

// hostile are sources that aim at the parser and at the analysis, of the size
// that is still looked at.
func hostile() map[string]string {
	const size = 60_000
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	return map[string]string{
		"substitutions":         fill("$("),
		"subshells":             fill("("),
		"subshells in comments": fill("( #)\n"),
		"subshells in texts":    fill("( ')' \n"),
		"blocks":                fill("{ "),
		"braces":                fill("{a,"),
		"closed braces":         "echo " + strings.Repeat("{a,", 9000) + strings.Repeat("}", 9000),
		"many braces":           "echo " + fill("{a,b}"),
		"brace sequence":        "echo {1..999999999}{1..999999999}",
		"long brace sequence":   "echo {1.." + strings.Repeat("0", 50_000) + "9}",
		"ifs":                   fill("if a; then "),
		"whiles":                fill("while a; do "),
		"cases":                 fill("case a in b) "),
		"functions":             fill("f() { "),
		"many functions":        numbered("f%d() { f%[1]d; }\n", 3000),
		"late functions":        numbered("f%d() { g; h; }\n", 2500) + "g() { :; }\n",
		"backquotes":            fill("`\\"),
		"quoted substitutions":  fill("\"$("),
		"negations":             fill("! "),
		"pipes":                 fill("a|") + "a",
		"ands":                  fill("a&&") + "a",
		"arithmetic":            "$((" + strings.Repeat("(", 29_000) + "1" + strings.Repeat(")", 29_000) + "))",
		"minus":                 "$((" + fill("-") + "1))",
		"sums":                  "$((" + fill("1+") + "1))",
		"ternaries":             "$((" + fill("1?") + "1))",
		"tests":                 "[[ " + fill("! ") + "a ]]",
		"test parentheses":      "[[ " + fill("( "),
		"evals":                 fill("eval '"),
		"quoted evals":          fill("eval \"a\";"),
		"nested evals":          strings.Repeat("eval eval eval bash -c 'sh -c \"eval curl\"';", 1400),
		"expansions":            fill("${a:-"),
		"words":                 fill("a "),
		"statements":            fill("a\n"),
		"distinct commands":     numbered("c%d\n", 9000),
		"distinct files":        numbered("> f%d\n", 7000),
		"assignments":           numbered("v%d=x$v%d\n", 4000),
		"doubling":              doubling(200),
		"replacement":           "x=" + strings.Repeat("a", 1000) + "; " + strings.Repeat("echo ${x//a/$x};", 3500),
		"nested replacement":    "x=" + strings.Repeat("a", 1000) + "\n" + strings.Repeat("echo ${x//a/bbbbbbbbbbbbbb}\n", 2000),
		"wide words":            "x=" + strings.Repeat("a", 1000) + "\n" + strings.Repeat("echo "+strings.Repeat("$x", 30)+"\n", 800),
		"here-documents":        strings.Repeat("cat <<E\n$(a)\nE\n", 4000),
		"here-document nests":   fill("cat <<E\n$("),
		"wrappers":              fill("env "),
		"wrapped functions":     `f() { "$@"; }; ` + fill("f "),
		"recursive functions":   `f() { f "$@"; "$@" "$@"; }; f f f f f f`,
		"sed":                   "sed '" + fill("s/a/b/;") + "'",
		"awk":                   "awk '" + fill(`system("a")`) + "'",
		"one text":              "echo '" + fill("x") + "'",
		"not ASCII":             "echo " + strings.Repeat("é > ü$a ", 5000),
		"arrays":                "a=(" + fill("x ") + ")\n" + strings.Repeat(`"${a[@]}"`+"\n", 10),
		"extended globs":        "shopt -s extglob; a " + fill("@("),
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func doubling(n int) string {
	b := "v0=aaaaaaaa\n" + numbered("v%d=$v%[1]d\n", 0)
	for i := range n {
		b += fmt.Sprintf("v%d=$v%d$v%d\n", i+1, i, i)
	}
	return b + fmt.Sprintf("$v%d\n", n)
}

func unanalysable(head bridge.FactsHead) bool {
	return slices.ContainsFunc(head.Facts, func(f bridge.Fact) bool { return f.Kind == "unsafe" && f.Target == "unanalysable" })
}

func TestHostileSourcesStayWithinTheBounds(t *testing.T) {
	for name, source := range hostile() {
		t.Run(name, func(t *testing.T) {
			head := shell.Analyse(source)
			if len(head.Facts) > 2001 {
				t.Errorf("%d facts", len(head.Facts))
			}
			if _, err := analysis.Permissions(head, "", nil); err != nil {
				t.Errorf("the facts are malformed: %v", err)
			}
		})
	}
}

func TestDeepNestingIsNotParsed(t *testing.T) {
	for _, open := range []string{"$(", "(", "( #)\n", "{ ", "if a; then "} {
		head := shell.Analyse(strings.Repeat(open, 60_000/len(open)))
		if !unanalysable(head) && head.Failure == nil {
			t.Errorf("%q is parsed to its end", open)
		}
	}
}

func TestOrdinaryNestingIsParsed(t *testing.T) {
	deep := strings.Repeat("if a; then ( b \"$(c; ", 12) + strings.Repeat(")\") ; fi", 12)
	if head := shell.Analyse(deep); unanalysable(head) || head.Failure != nil {
		t.Errorf("twelve levels of three: %+v", head)
	}
}

func TestLongSourcesAreUnanalysable(t *testing.T) {
	if !unanalysable(shell.Analyse(strings.Repeat("a\n", 40_000))) {
		t.Error("80 kB are looked at")
	}
}

func TestWhatDoesNotParseIsASyntaxErrorWithItsPlace(t *testing.T) {
	head := shell.Analyse("echo é\nécho x; done\n")
	f := head.Failure
	if f == nil {
		t.Fatal("no failure")
	}
	if f.Class != "SyntaxError" || f.Line != 2 || f.Column != 9 || f.Message == "" {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(f.Text, "<cell>: line 2: syntax error") || !strings.Contains(f.Text, "écho x; done") {
		t.Errorf("text %q", f.Text)
	}
}

func TestPlacesCountCharacters(t *testing.T) {
	head := shell.Analyse("echo é; ls\nbash -c 'é; curl'")
	want := []bridge.Fact{
		{Kind: "run", Target: "ls", Via: "command", Line: 1, Column: 9},
		{Kind: "run", Target: "*", Via: "bash -c: command", Line: 2, Column: 9},
		{Kind: "run", Target: "curl", Via: "bash -c: command", Line: 2, Column: 9},
	}
	if !slices.Equal(head.Facts, want) {
		t.Errorf("got %+v", head.Facts)
	}
}

// FuzzAnalyse: whatever the text, the analysis ends, its facts are well formed
// and bounded, and are the same again.
func FuzzAnalyse(f *testing.F) {
	for _, source := range []string{
		"", "a", `f() { "$@"; }; f ls`, "x=(a b); \"${x[@]}\"", "bash <<E\n$(a)\nE", "sed 's/a/b/e;w x'", `awk 'BEGIN{"a"|getline; system("b")}'`,
		"case $1 in a) b;; esac", "find . -exec sh -c 'x' \\;", "tar --checkpoint-action=exec=a", "pip install a", "curl -o x http://a:1/", "env -S 'a b' c",
		"git -c a.b='!c' d", "echo {a..z}{1..3}", "declare -n x=y", "a=$'\\xff'; $a", "sed '\\", "awk '/", "for((;;)){ :; }", "${x//a/b}", "~x/y", "[[ -v a[1] ]]",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		head := shell.Analyse(source)
		if len(head.Facts) > 2001 {
			t.Fatalf("%d facts", len(head.Facts))
		}
		if _, err := analysis.Permissions(head, "", nil); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(head.Facts, func(f bridge.Fact) bool { return f.Via == "analyser" }) {
			t.Fatal("the analyser failed")
		}
		if again := shell.Analyse(source); !slices.Equal(again.Facts, head.Facts) {
			t.Fatalf("%v, then %v", head.Facts, again.Facts)
		}
	})
}

func BenchmarkFourHundredLines(b *testing.B) {
	source := strings.Repeat("for f in *.csv; do grep x \"$f\" | sort > out/$f.txt; done\n", 400)
	b.ReportAllocs()
	for b.Loop() {
		shell.Analyse(source)
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, source := range hostile() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				shell.Analyse(source)
			}
		})
	}
}
