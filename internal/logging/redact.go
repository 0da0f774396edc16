package logging

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mask stands where something was masked.
const Mask = "[redacted]"

// rounds is how often a text is gone through at most. What is masked can bring a new
// match about, for example of a password in a URL that had blanks in it; more than
// twice takes patterns that are made for it.
const rounds = 4

// longestPattern and mostPatterns bound what an operator adds: each is run over every
// text.
const (
	longestPattern = 1000
	mostPatterns   = 100
)

// shortestPiece is how much of a key has to be named, in bytes.
const shortestPiece = 2

// Rules are what an operator adds to what is masked anyway. The zero value adds nothing.
type Rules struct {
	// Keys are names of attributes and arguments whose values are masked as a whole. A
	// star stands for any text; letter case and the difference between - and _ do not
	// count.
	Keys []string
	// Patterns are regular expressions (RE2) of what is masked in any text. If one has
	// groups, only what they hold is masked.
	Patterns []string
}

// Redactor masks secrets. It is safe for concurrent use.
type Redactor struct {
	keys    []glob
	shapes  []shape
	inKeys  *needles // of all keys together
	inTexts *needles // of each shape
}

// shape is how a kind of secret looks.
type shape struct {
	// needles are texts of which each match holds one, in lower case: most texts hold
	// none and are not searched any further. Nil means that there are none such.
	needles []string
	pattern *regexp.Regexp
	// value is the length of the secret that begins where a match ends; 0 if there is
	// none. When it is nil the match holds the secret itself. Secrets that are found so
	// may overlap: what one is inside of does not hide the next.
	value func(string) int
}

// NewRedactor makes a Redactor of the built-in rules and those of the operator. The
// error names the one that is wrong, and how to mend it.
func NewRedactor(r Rules) (*Redactor, error) {
	if n := len(r.Keys) + len(r.Patterns); n > mostPatterns {
		return nil, fmt.Errorf("%d keys and patterns: at most %d are accepted, because each is tried on every text", n, mostPatterns)
	}
	red := &Redactor{shapes: builtinShapes()}
	for _, k := range append(builtinKeys(), r.Keys...) {
		g := newGlob(k)
		if len(g.longest()) < shortestPiece {
			return nil, fmt.Errorf("key %q: it would mask nearly every value; name %d characters in a row of the keys that are meant", k, shortestPiece)
		}
		red.keys = append(red.keys, g)
	}
	for _, p := range r.Patterns {
		re, err := compile(p)
		if err != nil {
			return nil, err
		}
		red.shapes = append(red.shapes, shape{pattern: re})
	}
	red.inKeys, red.inTexts = newNeedles([]shape{{needles: longest(red.keys)}}), newNeedles(red.shapes)
	return red, nil
}

func compile(p string) (*regexp.Regexp, error) {
	if len(p) > longestPattern {
		return nil, fmt.Errorf("pattern %.40q…: %d bytes, and at most %d are accepted", p, len(p), longestPattern)
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w; the syntax is that of RE2, without look-around and back-references", p, err)
	}
	if re.MatchString("") {
		return nil, fmt.Errorf("pattern %q: it matches the empty text, and so everywhere; make it match at least what is to be masked", p)
	}
	return re, nil
}

// Text masks what looks like a secret.
func (r *Redactor) Text(s string) string {
	for range rounds {
		next := r.once(s)
		if next == s {
			return s
		}
		s = next
	}
	return Mask
}

// principal is the name of the holder of a token, which looks like a setting. Names are
// no secrets; that of a token has at most as many characters as here, see package token.
var principal = regexp.MustCompile(`^token:[a-z0-9][a-z0-9._-]{0,62}$`)

// Field masks the value of a key: as a whole if the key says that it is secret, else
// like any text. Where a principal is expected its name stays, if it holds no secret.
func (r *Redactor) Field(key, value string) string {
	switch {
	case value != "" && r.Secret(key):
		return Mask
	case key == "principal" && principal.MatchString(value):
		kind, name, _ := strings.Cut(value, ":")
		return kind + ":" + r.Text(name)
	}
	return r.Text(value)
}

// Secret reports whether the values of a key are masked as a whole.
func (r *Redactor) Secret(key string) bool {
	key = normal(key)
	if r.inKeys.in(key) == 0 {
		return false
	}
	return slices.ContainsFunc(r.keys, func(g glob) bool { return g.match(key) })
}

// span is a part of a text, from the first byte to behind the last.
type span struct{ from, to int }

// once masks every match that the text has now. Masks that are in it already are taken
// as matches, so that a pattern cannot make them grow.
func (r *Redactor) once(s string) string {
	spans := r.matches(s)
	if len(spans) == 0 {
		return s
	}
	for at := 0; ; {
		i := strings.Index(s[at:], Mask)
		if i < 0 {
			break
		}
		spans = append(spans, span{at + i, at + i + len(Mask)})
		at += i + len(Mask)
	}
	return masked(s, merged(spans))
}

// matches finds what is to be masked.
func (r *Redactor) matches(s string) []span {
	var spans []span
	possible := r.inTexts.in(s)
	for i, sh := range r.shapes {
		if sh.needles != nil && possible&(1<<i) == 0 {
			continue
		}
		for _, m := range sh.pattern.FindAllStringSubmatchIndex(s, -1) {
			if sh.value == nil {
				spans = appendGroups(spans, m)
			} else if n := sh.value(s[m[1]:]); n > 0 {
				spans = append(spans, span{m[1], m[1] + n})
			}
		}
	}
	return spans
}

// appendGroups adds the groups of a match, or the match if it has none. A match whose
// groups are all empty is masked as a whole.
func appendGroups(spans []span, m []int) []span {
	n := len(spans)
	for i := 2; i < len(m); i += 2 {
		if m[i] >= 0 && m[i] < m[i+1] {
			spans = append(spans, span{m[i], m[i+1]})
		}
	}
	if len(spans) == n && m[0] < m[1] {
		spans = append(spans, span{m[0], m[1]})
	}
	return spans
}

// merged joins spans that overlap or touch.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func masked(s string, spans []span) string {
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.from])
		b.WriteString(Mask)
		at = sp.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// glob is a pattern of keys: what stands between its stars.
type glob []string

func newGlob(pattern string) glob { return strings.Split(normal(pattern), "*") }

// normal is a key as it is compared.
func normal(key string) string { return strings.ReplaceAll(strings.ToLower(key), "-", "_") }

// match reports whether a key in its normal form has the pieces in order, the first at
// its start and the last at its end.
func (g glob) match(key string) bool {
	if len(g) == 1 {
		return key == g[0]
	}
	rest, ok := strings.CutPrefix(key, g[0])
	if !ok {
		return false
	}
	for _, piece := range g[1 : len(g)-1] {
		if _, rest, ok = strings.Cut(rest, piece); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, g[len(g)-1])
}

// longest is the longest of the pieces, which every key that matches holds.
func (g glob) longest() string {
	return slices.MaxFunc(g, func(a, b string) int { return len(a) - len(b) })
}

func longest(globs []glob) []string {
	out := make([]string, 0, len(globs))
	for _, g := range globs {
		out = append(out, g.longest())
	}
	return out
}
