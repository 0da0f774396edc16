package policy_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func called(name string) policy.Permission {
	return policy.Permission{Kind: policy.Tool, Target: name}
}

func TestNoNameOfAToolEscapesARuleForItsServer(t *testing.T) {
	allow, deny := rule(t, "tool(*)"), rule(t, "tool(evil.*)")
	for _, name := range []string{"echo", "a.b", "a/b", "a.b/c", "x,y", "x{y}", "a b", "*", "**", "", "évil", "a\nb", "\u202e", "resources:read", strings.Repeat("x", 9000)} {
		l := policy.Layers{Operator: policy.RuleSet{Allow: []policy.Rule{allow}, Deny: []policy.Rule{deny}}}
		if d := policy.Evaluate(l, called("evil."+name)); d.Effect != policy.Deny {
			t.Errorf("evil.%.20q: %s by %s", name, d.Effect, d.Rule)
		}
		l = policy.Layers{Operator: policy.RuleSet{Allow: []policy.Rule{allow}, Ask: []policy.Rule{deny}}}
		if d := policy.Evaluate(l, called("evil."+name)); d.Effect != policy.Ask {
			t.Errorf("evil.%.20q: %s by %s", name, d.Effect, d.Rule)
		}
	}
}

func TestEveryListedPatternOfAServerIsARuleThatHolds(t *testing.T) {
	for _, row := range []struct{ server, pattern, name string }{
		{"s", "*", "a.b/c"},
		{"s", "a,b", "a,b"},
		{"s", "a{b", "a{b"},
		{"s", " a ", " a "},
		{"s", "(x)", "(x)"},
		{"s", "a**b", "a.b"},
		{"s", "s?eep", "sleep"},
		{"s", "a\u200bb", "a\u200bb"},
		{"my, server {1}", "del*", "delete.all"},
		{"io.github/x", "*", "y"},
		{" s", "..", ".."},
	} {
		r, err := policy.ToolRule(row.server, row.pattern)
		if err != nil || !r.Touches(called(row.server+"."+row.name)) {
			t.Errorf("%q, %q: %v does not hold for %q: %v", row.server, row.pattern, r, row.name, err)
		}
		if r.Touches(called("other.thing")) {
			t.Errorf("%v holds for another server", r)
		}
	}
	for _, row := range [][2]string{{"s", ""}, {"", "*"}, {"s", strings.Repeat("x", 9000)}} {
		if r, err := policy.ToolRule(row[0], row[1]); err == nil {
			t.Errorf("%.20q is the rule %v", row, r)
		}
	}
}

func TestTheRuleThatWouldAllowAToolAllowsNothingElse(t *testing.T) {
	for name, want := range map[string]string{
		"s.a/b.c:d": "tool(s.a/b.c:d)",
		"s.a?":      "", "s.a,s.b": "", "s.*": "", "s.x' --allow 'y": "", "s.a{b,c}": "", "s.": "", "s.a ": "",
	} {
		if have := policy.Granting(called(name)); have != want {
			t.Errorf("%s: %q", name, have)
		}
	}
}

func FuzzNoTextEscapesThePatternThatIsMadeOfIt(f *testing.F) {
	f.Add("a.b", "c?*")
	f.Fuzz(func(t *testing.T, head, tail string) {
		if !utf8.ValidString(head) || !utf8.ValidString(tail) {
			return // no rule holds such a text
		}
		if !policy.Wild(head+"*", head+tail) || !policy.Wild("*"+tail, head+tail) || !policy.Wild(head+"*"+tail, head+tail) || !policy.Wild("*", head) {
			t.Errorf("%q, %q", head, tail)
		}
	})
}
