package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func rules(t testing.TB, texts ...string) []policy.Rule {
	t.Helper()
	var out []policy.Rule
	for _, s := range texts {
		out = append(out, rule(t, s))
	}
	return out
}

// set reads "deny import(os)" lines.
func set(t testing.TB, lines ...string) policy.RuleSet {
	t.Helper()
	var s policy.RuleSet
	for _, line := range lines {
		effect, text, _ := strings.Cut(line, " ")
		switch policy.Effect(effect) {
		case policy.Deny:
			s.Deny = append(s.Deny, rule(t, text))
		case policy.Ask:
			s.Ask = append(s.Ask, rule(t, text))
		case policy.Allow:
			s.Allow = append(s.Allow, rule(t, text))
		default:
			t.Fatalf("not an effect: %q", line)
		}
	}
	return s
}

func bundle(t testing.TB, name string, fallback policy.Effect, lines ...string) policy.Bundle {
	t.Helper()
	return policy.Bundle{Name: name, Rules: set(t, lines...), Default: fallback}
}

func TestPrecedence(t *testing.T) {
	const git = "run(git)"
	all := []struct {
		line  string
		layer policy.Layer
		want  policy.Effect
	}{
		{"gear deny", policy.GearDeny, policy.Deny},
		{"ceiling deny", policy.CeilingLayer, policy.Deny},
		{"operator deny", policy.OperatorDeny, policy.Deny},
		{"operator ask", policy.OperatorAsk, policy.Ask},
		{"operator allow", policy.OperatorAllow, policy.Allow},
		{"gear ask", policy.GearAsk, policy.Ask},
		{"gear allow", policy.GearAllow, policy.Allow},
		{"default", policy.DefaultLayer, policy.Deny},
	}
	// Whatever stands below the first layer that speaks must not change what it says.
	for first := range all {
		l := policy.Layers{Gear: policy.Bundle{Name: "g", Default: policy.Deny}, Ceiling: &policy.Bundle{Name: "c", Default: policy.Allow, Rules: set(t, "allow "+git)}}
		for _, row := range all[first:] {
			who, effect, _ := strings.Cut(row.line, " ")
			switch who {
			case "gear":
				add(t, &l.Gear.Rules, effect+" "+git)
			case "operator":
				add(t, &l.Operator, effect+" "+git)
			case "ceiling":
				add(t, &l.Ceiling.Rules, effect+" "+git)
			}
		}
		d := policy.Evaluate(l, permission(t, git))
		if d.Effect != all[first].want || d.Layer != all[first].layer {
			t.Errorf("from %s on: %s by %s", all[first].line, d.Effect, d.Layer)
		}
		if d.Named != (d.Layer != policy.DefaultLayer) || d.Reason == "" {
			t.Errorf("from %s on: named %v, reason %q", all[first].line, d.Named, d.Reason)
		}
	}
}

func add(t testing.TB, s *policy.RuleSet, line string) {
	t.Helper()
	more := set(t, line)
	s.Deny, s.Ask, s.Allow = append(s.Deny, more.Deny...), append(s.Ask, more.Ask...), append(s.Allow, more.Allow...)
}

func TestCeilingOnlyNarrows(t *testing.T) {
	gear := bundle(t, "g", policy.Allow, "allow run(*)")
	for _, row := range []struct {
		ceiling policy.Bundle
		want    policy.Effect
		named   bool
	}{
		{bundle(t, "c", policy.Deny), policy.Deny, false},
		{bundle(t, "c", policy.Ask), policy.Ask, false},
		{bundle(t, "c", policy.Allow), policy.Allow, false},
		{bundle(t, "c", policy.Deny, "allow run(git)"), policy.Allow, true},
		{bundle(t, "c", policy.Allow, "ask run(git)"), policy.Ask, true},
		{policy.Bundle{Name: "c"}, policy.Deny, false},
	} {
		d := policy.Evaluate(policy.Layers{Gear: gear, Ceiling: &row.ceiling}, permission(t, "run(git)"))
		if d.Effect != row.want || d.Named != row.named {
			t.Errorf("ceiling %+v: %s, named %v", row.ceiling, d.Effect, d.Named)
		}
	}
}

func TestOperatorOpensWhatADefaultClosed(t *testing.T) {
	l := policy.Layers{Gear: bundle(t, "restricted", policy.Deny, "deny run(rm)"), Operator: set(t, "allow import(numpy)", "allow run(*)")}
	if d := policy.Evaluate(l, permission(t, "import(numpy.linalg)")); d.Effect != policy.Allow || d.Rule != "import(numpy)" {
		t.Errorf("%+v", d)
	}
	if d := policy.Evaluate(l, permission(t, "run(rm)")); d.Effect != policy.Deny {
		t.Errorf("an overlay opened what the gear denies: %+v", d)
	}
}

func TestPrivateAddressNeedsItsOwnRule(t *testing.T) {
	target := permission(t, "net(169.254.169.254:80)")
	for _, l := range []policy.Layers{
		{Gear: bundle(t, "g", policy.Ask, "allow net(*)")},
		{Gear: bundle(t, "g", policy.Deny, "allow net(*)"), Operator: set(t, "allow net(**:80)")},
	} {
		if d := policy.Evaluate(l, target); d.Effect != policy.Deny || !strings.Contains(d.Reason, "private") {
			t.Errorf("%+v", d)
		}
	}
	open := policy.Evaluate(policy.Layers{Gear: bundle(t, "g", policy.Allow)}, target)
	if open.Effect != policy.Allow || open.Named {
		t.Errorf("default allow refuses nothing and grants nothing: %+v", open)
	}
	named := policy.Evaluate(policy.Layers{Gear: bundle(t, "g", policy.Deny, "ask private(169.254.169.254:80)")}, target)
	if named.Effect != policy.Ask || !named.Named {
		t.Errorf("%+v", named)
	}
}

func TestWhatEverySandboxHasNeedsNoPermission(t *testing.T) {
	l := policy.Layers{Gear: bundle(t, "g", policy.Deny), Own: []string{"HOME"}}
	for _, s := range []string{"read(/tmp/x)", "write(out.txt)", "write(/workspace/a/b)", "write(/dev/null)", "read(/proc/self/status)", "read(/)", "env(HOME)"} {
		if d := policy.Evaluate(l, permission(t, s)); d.Effect != policy.Allow || d.Named || d.Layer != policy.SandboxOwn {
			t.Errorf("%s: %+v", s, d)
		}
	}
	for _, s := range []string{"read(/etc/passwd)", "read(/tmp/../etc/passwd)", "read(../etc/x)", "read(/tmpx)", "write(/)", "read(~/x)", "read(*)", "read()", "env(TOKEN)", "env(*)", "import(HOME)"} {
		if d := policy.Evaluate(l, permission(t, s)); d.Effect != policy.Deny {
			t.Errorf("%s: %+v", s, d)
		}
	}
	l.Gear.Rules = set(t, "deny write(/tmp/**)")
	if d := policy.Evaluate(l, permission(t, "write(/tmp/x)")); d.Effect != policy.Deny {
		t.Errorf("a rule about scratch is ignored: %+v", d)
	}
}

func TestUnknownEffectsAreDenied(t *testing.T) {
	d := policy.Evaluate(policy.Layers{Gear: policy.Bundle{Name: "g", Default: "maybe"}}, permission(t, "run(git)"))
	if d.Effect != policy.Deny {
		t.Errorf("%+v", d)
	}
	odd := policy.Decision{Effect: "maybe"}
	if got := policy.Stricter(policy.Decision{Effect: policy.Deny, Rule: "x"}, odd); got.Effect == policy.Allow {
		t.Errorf("%+v", got)
	}
	if got := policy.Stricter(policy.Decision{Effect: policy.Ask}, odd); got.Effect != "maybe" {
		t.Errorf("an unknown effect counts as less than a refusal: %+v", got)
	}
}

func TestStricterOfTwoDecisions(t *testing.T) {
	order := []policy.Decision{
		{Effect: policy.Deny, Rule: "1"},
		{Effect: policy.Ask, Rule: "2"},
		{Effect: policy.Allow, Rule: "3"},
		{Effect: policy.Allow, Rule: "4", Named: true},
	}
	for i, a := range order {
		for j, b := range order {
			if got := policy.Stricter(a, b); got != order[min(i, j)] {
				t.Errorf("of %+v and %+v: %+v", a, b, got)
			}
		}
	}
}

func TestReasonsAreSentences(t *testing.T) {
	gear := bundle(t, "restricted", policy.Deny, "allow import(math, json)", "deny run(rm)", "ask net(api.github.com)")
	for in, want := range map[string]string{
		"import(math)":            "The gear restricted allows import(math).",
		"import(subprocess)":      "The gear restricted does not list the module subprocess.",
		"run(rm)":                 "The gear restricted denies run(rm).",
		"run(*)":                  "The gear restricted denies run(rm), and a program whose name is computed may turn out to be that.",
		"net(api.github.com:443)": "The gear restricted wants a human to approve a connection to api.github.com:443.",
		"net(localhost:80)":       "The gear restricted does not name a connection to localhost:80, and private or local addresses are reached only where a private(…) rule names them.",
		"unsafe(eval)":            "The gear restricted does not list the construct eval.",
		"env(*)":                  "The gear restricted does not list the whole environment.",
		"tool(github.x)":          "The gear restricted does not list the tool github.x.",
	} {
		if d := policy.Evaluate(policy.Layers{Gear: gear}, permission(t, in)); d.Reason != want {
			t.Errorf("%s: %s", in, d.Reason)
		}
	}
}

func TestEveryRefusalHasAHint(t *testing.T) {
	for _, k := range policy.Kinds() {
		for _, target := range []string{"*", "/etc/x", "a.example:80"} {
			if (k == policy.Read || k == policy.Write) && target == "a.example:80" {
				continue // a relative path is in the workspace, which is the run's own
			}
			d := policy.Evaluate(policy.Layers{Gear: policy.Bundle{Name: "g"}}, policy.Permission{Kind: k, Target: target})
			if d.Effect != policy.Deny || d.Hint == "" || !strings.HasSuffix(d.Hint, ".") {
				t.Errorf("%s(%s): %q", k, target, d.Hint)
			}
		}
	}
}

func TestNearestWord(t *testing.T) {
	words := []string{"import", "install", "limits"}
	for in, want := range map[string]string{"imprt": "import", "Import": "import", "instal": "install", "xyz": "", "": ""} {
		if got := policy.Nearest(in, words); got != want {
			t.Errorf("%q is near %q", in, got)
		}
	}
}

func FuzzRuleRoundTripsAndNeverReachesPrivate(f *testing.F) {
	for _, s := range []string{
		"import(numpy, urllib.parse)", "read(/data/**, /x/*.csv)", "net(*.example.com:{80,443})", "net([2606:4700::1]:1-2)", "net(*)",
		"private(10.0.0.0/8:443)", "private([fd00::/8]:443)", "tool(github.*)", "install(Pandas)", "run(/usr/bin/git, rm)", "unsafe(*)", "net(a{b,c}.{d,e}:{1,2})",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := policy.ParseRule(s)
		if err != nil {
			return
		}
		again, err := policy.ParseRule(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q is written as %q, which is read as %q (%v)", s, r, again, err)
		}
		if r.Private() || r.Kind() != policy.Net {
			return
		}
		for _, host := range hidden() {
			if r.Match(policy.Permission{Kind: policy.Net, Target: host + ":80"}) {
				t.Fatalf("%q reaches %s", s, host)
			}
		}
	})
}

func FuzzRefusingMoreNeverWidens(f *testing.F) {
	f.Add("net(*)", "net(evil.example)", "net", "evil.example:443")
	f.Add("run(*)", "run(rm)", "run", "/bin/rm")
	f.Add("read(/**)", "read(/root/**)", "read", "/root/../etc/x")
	f.Add("install(*)", "install(evil)", "install", "evil @ x")
	f.Fuzz(func(t *testing.T, allow, refuse, kind, target string) {
		a, err1 := policy.ParseRule(allow)
		b, err2 := policy.ParseRule(refuse)
		if err1 != nil || err2 != nil {
			return
		}
		p := policy.Permission{Kind: policy.Kind(kind), Target: target}
		if b.Match(p) && !b.Touches(p) {
			t.Fatalf("%s covers %s without touching it", b, p)
		}
		before := policy.Evaluate(policy.Layers{Gear: policy.Bundle{Name: "g", Default: policy.Ask, Rules: policy.RuleSet{Allow: []policy.Rule{a}}}}, p)
		for _, e := range []policy.Effect{policy.Deny, policy.Ask} {
			more := policy.RuleSet{Allow: []policy.Rule{a}}
			if e == policy.Deny {
				more.Deny = []policy.Rule{b}
			} else {
				more.Ask = []policy.Rule{b}
			}
			after := policy.Evaluate(policy.Layers{Gear: policy.Bundle{Name: "g", Default: policy.Ask, Rules: more}}, p)
			if policy.Stricter(after, before).Effect != after.Effect && before.Effect != policy.Deny {
				t.Fatalf("%s %s turned %s into %s for %s", e, b, before.Effect, after.Effect, p)
			}
		}
		if g := policy.Granting(p); g != "" && !slices.ContainsFunc(rules(t, g), func(r policy.Rule) bool { return r.Match(p) }) {
			t.Fatalf("%s is said to grant %s", g, p)
		}
	})
}
