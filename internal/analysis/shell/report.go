package shell

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// maxTarget bounds a text of a fact; no rule names a longer one.
const maxTarget = 512

// The words of unsafe that several rules use.
const (
	dynamicCode = "dynamic_code"
	environment = "environment"
)

// report collects facts: one for each kind and target, where it is first seen.
type report struct {
	source string
	lines  []int // offsets at which lines begin
	ascii  bool
	facts  map[key]found
}

type key struct{ kind, target string }

type found struct {
	via    string
	offset uint
}

func newReport(source string) *report {
	r := &report{source: source, lines: []int{0}, ascii: true, facts: map[key]found{}}
	for i := range len(source) {
		if source[i] == '\n' {
			r.lines = append(r.lines, i+1)
		}
		r.ascii = r.ascii && source[i] < utf8.RuneSelf
	}
	return r
}

func (r *report) add(kind policy.Kind, target, via string, offset uint) {
	k := key{string(kind), strings.ToValidUTF8(clip(target, maxTarget), "\ufffd")}
	known, seen := r.facts[k]
	switch {
	case k.target == "" || (seen && known.offset <= offset):
		return
	case !seen && len(r.facts) >= maxFacts:
		r.unanalysable("facts")
		return
	}
	r.facts[k] = found{strings.ToValidUTF8(clip(via, maxTarget), "\ufffd"), offset}
}

// unanalysable says that the facts are not all that there is to know.
func (r *report) unanalysable(why string) {
	r.facts[key{string(policy.Unsafe), "unanalysable"}] = found{via: why}
}

// hidden reports characters that make the source read differently from what it
// says (CVE-2021-42574): bidirectional controls and what has no shape at all.
func (r *report) hidden() {
	if r.ascii {
		return
	}
	for i, c := range r.source {
		if (c >= '\u202a' && c <= '\u202e') || (c >= '\u2066' && c <= '\u2069') || c == '\u061c' || c == '\u200b' || c == '\u200e' ||
			c == '\u200f' || c == '\u2060' || c == '\ufeff' || (c >= 0xe0000 && c < 0xe0080) {
			r.add(policy.Unsafe, "unicode", fmt.Sprintf("U+%04X", c), uint(i))
			return
		}
	}
}

// place is the line and column of an offset, from 1, the column in characters.
func (r *report) place(offset uint) (line, column int) {
	at := min(int(offset), len(r.source))
	line = sort.SearchInts(r.lines, at+1)
	text := r.source[r.lines[line-1]:at]
	if r.ascii {
		return line, len(text) + 1
	}
	return line, utf8.RuneCountInString(text) + 1
}

// sorted are the facts in the order of the source.
func (r *report) sorted() []bridge.Fact {
	out := make([]bridge.Fact, 0, len(r.facts))
	for k, f := range r.facts {
		line, column := r.place(f.offset)
		out = append(out, bridge.Fact{Kind: k.kind, Target: k.target, Via: f.via, Line: line, Column: column})
	}
	slices.SortFunc(out, func(a, b bridge.Fact) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Column != b.Column {
			return a.Column - b.Column
		}
		return strings.Compare(a.Kind+" "+a.Target, b.Kind+" "+b.Target)
	})
	return out
}

// clip cuts a text to n bytes, at a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
