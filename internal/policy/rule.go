package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The bounds on one rule. They keep a hostile or mistyped file from costing
// more than a moment, and lie far above what a person would write.
const (
	maxRuleBytes    = 8192
	maxAlternatives = 512
)

// private is the word of the rules that reach addresses which no wildcard
// covers. It is a kind of rule only: what it grants are permissions of kind [Net].
const private = "private"

// Kinds lists every kind of permission.
func Kinds() []Kind {
	return []Kind{Import, Read, Write, Net, Run, Env, Install, Tool, Unsafe}
}

// Rule is a pattern for permissions, written kind(pattern, pattern). The zero
// Rule matches nothing.
type Rule struct {
	kind     Kind
	private  bool
	patterns []pattern
	place    string
}

// pattern is one pattern as it was written, and what it stands for.
type pattern struct {
	text     string
	matchers []matcher
}

func (p pattern) holds(test func(matcher) bool) bool { return slices.ContainsFunc(p.matchers, test) }

// matcher is one pattern with its braces expanded.
type matcher interface {
	// covers reports that the pattern holds for the target whatever is unknown
	// about it; touches that it may hold for some reading of the target.
	covers(target string) bool
	touches(target string) bool
}

// RuleError says what is wrong with a rule and how to mend it.
type RuleError struct {
	Rule    string
	Message string
	Hint    string
}

func (e *RuleError) Error() string {
	s := fmt.Sprintf("rule %q: %s", e.Rule, e.Message)
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

func broken(hint, format string, args ...any) *RuleError {
	return &RuleError{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// ParseRule reads kind(pattern, pattern). The error is a *[RuleError].
func ParseRule(s string) (Rule, error) {
	r, err := parseRule(strings.TrimSpace(s))
	if err != nil {
		err.Rule = s
		return Rule{}, err
	}
	return r, nil
}

// ExpandHome replaces a leading ~ in the patterns of a read or write rule by
// home. Only a reader of files and flags knows where that is.
func ExpandHome(s, home string) string {
	word, inner, ok := cutRule(strings.TrimSpace(s))
	if home == "" || !ok || (Kind(word) != Read && Kind(word) != Write) {
		return s
	}
	patterns, err := splitPatterns(inner)
	if err != nil {
		return s
	}
	for i, p := range patterns {
		if p == "~" || strings.HasPrefix(p, "~/") {
			patterns[i] = strings.TrimSuffix(home, "/") + p[1:]
		}
	}
	return word + "(" + strings.Join(patterns, ", ") + ")"
}

func parseRule(s string) (Rule, *RuleError) {
	if len(s) > maxRuleBytes {
		return Rule{}, broken("split it into several rules", "longer than %d bytes", maxRuleBytes)
	}
	if err := checkText(s); err != nil {
		return Rule{}, err
	}
	word, inner, ok := cutRule(s)
	if !ok {
		return Rule{}, broken("write for example net(api.github.com:443)", "not of the form kind(pattern)")
	}
	r := Rule{kind: Kind(word)}
	if word == private {
		r.kind, r.private = Net, true
	} else if err := checkKind(word); err != nil {
		return Rule{}, err
	}
	patterns, err := splitPatterns(inner)
	if err != nil {
		return Rule{}, err
	}
	alternatives := 0
	for _, p := range patterns {
		ms, err := parsePattern(r.kind, r.private, p)
		if err != nil {
			return Rule{}, err
		}
		r.patterns = append(r.patterns, pattern{p, ms})
		if alternatives += len(ms); alternatives > maxAlternatives {
			return Rule{}, broken("split it into several rules", "stands for more than %d patterns", maxAlternatives)
		}
	}
	return r, nil
}

// cutRule takes kind and the text between the parentheses apart.
func cutRule(s string) (word, inner string, ok bool) {
	word, rest, found := strings.Cut(s, "(")
	inner, closed := strings.CutSuffix(rest, ")")
	return strings.TrimSpace(word), inner, found && closed
}

func checkKind(word string) *RuleError {
	names := []string{private}
	for _, k := range Kinds() {
		if word == string(k) {
			return nil
		}
		names = append(names, string(k))
	}
	if near := Nearest(word, names); near != "" {
		return broken("did you mean "+near+"?", "unknown kind %q", word)
	}
	return broken("use one of "+strings.Join(names[1:], ", ")+" or "+private, "unknown kind %q", word)
}

func checkText(s string) *RuleError {
	for _, r := range s {
		if r < 0x20 || (r >= 0x7f && r < 0xa0) || r == '\ufffd' || isInvisible(r) {
			return broken("remove it", "holds the character %U, which nobody can see", r)
		}
	}
	return nil
}

// isInvisible covers the characters that make a rule read differently from what
// it says (CVE-2021-42574 and kin).
func isInvisible(r rune) bool {
	return r == 0x00ad || (r >= 0x200b && r <= 0x200f) || (r >= 0x2028 && r <= 0x202e) ||
		(r >= 0x2060 && r <= 0x2069) || r == 0xfeff
}

// splitPatterns splits at the commas that stand outside braces.
func splitPatterns(s string) ([]string, *RuleError) {
	var out []string
	start, inside := 0, false
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || (s[i] == ',' && !inside):
			p := strings.TrimSpace(s[start:i])
			if p == "" {
				return nil, broken("write * for every target", "an empty pattern")
			}
			out, start = append(out, p), i+1
		case s[i] == '{' && inside:
			return nil, broken("write the alternatives out", "braces inside braces")
		case s[i] == '{':
			inside = true
		case s[i] == '}' && !inside:
			return nil, broken("open it with {", "a } without its {")
		case s[i] == '}':
			inside = false
		}
	}
	if inside {
		return nil, broken("close it with }", "a { without its }")
	}
	return out, nil
}

// expand writes the alternatives of braces out: a{b,c} is ab and ac.
func expand(p string) ([]string, *RuleError) {
	head, rest, found := strings.Cut(p, "{")
	if !found {
		return []string{p}, nil
	}
	inner, tail, _ := strings.Cut(rest, "}")
	tails, err := expand(tail)
	if err != nil {
		return nil, err
	}
	var out []string
	for alt := range strings.SplitSeq(inner, ",") {
		for _, t := range tails {
			out = append(out, head+strings.TrimSpace(alt)+t)
		}
		if len(out) > maxAlternatives {
			return nil, broken("split it into several rules", "stands for more than %d patterns", maxAlternatives)
		}
	}
	return out, nil
}

func parsePattern(kind Kind, private bool, p string) ([]matcher, *RuleError) {
	texts, err := expand(p)
	if err != nil {
		return nil, err
	}
	out := make([]matcher, 0, len(texts))
	for _, t := range texts {
		m, err := newMatcher(kind, private, t)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func newMatcher(kind Kind, private bool, p string) (matcher, *RuleError) {
	switch {
	case p == "":
		return nil, broken("write * for every target", "an empty pattern")
	case private:
		return newPrivate(p)
	case kind == Net:
		return newNet(p)
	case p == "*" || p == "**":
		return everything{}, nil
	}
	switch kind {
	case Read, Write:
		return newPath(p)
	case Run:
		return newProgram(p)
	case Import:
		return newDotted(p)
	case Tool:
		return newTool(p)
	case Install:
		return newRequirement(p)
	default:
		return newWord(kind, p)
	}
}

// String is the rule as it was written, with its spaces made regular.
func (r Rule) String() string {
	if r.IsZero() {
		return ""
	}
	texts := make([]string, len(r.patterns))
	for i, p := range r.patterns {
		texts[i] = p.text
	}
	return r.word() + "(" + strings.Join(texts, ", ") + ")"
}

func (r Rule) word() string {
	if r.private {
		return private
	}
	return string(r.kind)
}

// IsZero reports whether r is no rule.
func (r Rule) IsZero() bool { return len(r.patterns) == 0 }

// Kind is the kind of the permissions that the rule is about: [Net] for private rules too.
func (r Rule) Kind() Kind { return r.kind }

// Private reports whether the rule is a private(…) rule.
func (r Rule) Private() bool { return r.private }

// From is the rule as written in place, for example "option --deny", so that
// sentences about it can say where it stands.
func (r Rule) From(place string) Rule {
	r.place = place
	return r
}

// Match reports whether the rule covers the permission with certainty. Whatever
// the source leaves open (a port, a host computed while running, written as the
// target *) is covered only by a rule that leaves it open as well.
func (r Rule) Match(p Permission) bool {
	_, ok := r.match(p)
	return ok
}

// Touches reports whether the rule may hold for the permission, under some
// reading of what the source leaves open. Rules that deny or ask are applied as
// soon as they touch, rules that allow only when they [Rule.Match].
func (r Rule) Touches(p Permission) bool {
	_, ok := r.touch(p)
	return ok
}

// match is the rule reduced to the pattern that covers the permission.
func (r Rule) match(p Permission) (Rule, bool) {
	return r.reduce(p, func(m matcher) bool { return m.covers(p.Target) })
}

// touch is the rule reduced to the pattern that may hold for the permission.
func (r Rule) touch(p Permission) (Rule, bool) {
	if certain, ok := r.match(p); ok {
		return certain, true
	}
	return r.reduce(p, func(m matcher) bool { return m.touches(p.Target) })
}

func (r Rule) reduce(p Permission, test func(matcher) bool) (Rule, bool) {
	if p.Kind != r.kind {
		return Rule{}, false
	}
	for _, pat := range r.patterns {
		if pat.holds(test) {
			return Rule{kind: r.kind, private: r.private, patterns: []pattern{pat}, place: r.place}, true
		}
	}
	return Rule{}, false
}

// Names are the patterns that stand for exactly one target, braces written out.
// All is true when a pattern stands for every target. Open are the patterns that
// stand for some targets and cannot be listed.
func (r Rule) Names() (names []string, all bool, open []string) {
	for _, p := range r.patterns {
		texts, err := expand(p.text)
		if err != nil {
			continue // a Rule is made by ParseRule, which refuses such a pattern
		}
		for _, t := range texts {
			switch {
			case t == "*" || t == "**":
				all = true
			case strings.Contains(t, "*") || r.kind == Tool && strings.Contains(t, "?"):
				open = append(open, t)
			default:
				names = append(names, t)
			}
		}
	}
	return names, all, open
}

// Granting is the rule that an operator would write to allow exactly this
// permission, or the empty string when no rule can say it.
func Granting(p Permission) string {
	target := p.Target
	switch {
	case unknown(target):
		target = "*"
	case p.Kind == Install:
		target, _ = cutRequirement(strings.TrimSpace(target))
	case p.Kind == Read || p.Kind == Write:
		target = cleanPath(target)
	case strings.Contains(target, "*"), p.Kind == Tool && !plainTool(target):
		return ""
	}
	word := string(p.Kind)
	if IsPrivate(p) {
		word, target = private, privateTarget(target)
	}
	r, err := ParseRule(word + "(" + target + ")")
	if err != nil || !r.Match(p) {
		return ""
	}
	return r.String()
}

// privateTarget adds the port that a private rule has to name.
func privateTarget(target string) string {
	e, _ := parseEndpoint(target)
	name := e.host.name
	if e.host.addr.IsValid() {
		name = e.host.addr.String()
	}
	if e.port == 0 {
		return hostPort(name, "1-65535")
	}
	return hostPort(name, strconv.Itoa(int(e.port)))
}
