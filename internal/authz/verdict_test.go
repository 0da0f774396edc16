package authz_test

import (
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func TestOnlyRulesThatHelpAreNamed(t *testing.T) {
	restricted, err := gear.OpenRegistry(t.TempDir()).Get("restricted")
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := gear.Freeze(gear.Gear{Name: "wide", Execution: true, Isolation: gear.Sandbox, Default: policy.Ask}, nil, &restricted, gear.Overlays{})
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"import(os)"}
	for name, c := range map[string]struct {
		frozen gear.Frozen
		p      policy.Permission
		allow  string
		hints  []string
	}{
		"default":       {frozen(t, "restricted"), perm(policy.Import, "os"), "import(os)", []string{"does not list"}},
		"deny by flag":  {overlaid(t, "restricted", both, nil, both), perm(policy.Import, "os"), "", []string{"The operator's option --deny denies import(os).", "No --allow changes that"}},
		"ask by flag":   {overlaid(t, "restricted", both, both, nil), perm(policy.Import, "os"), "", []string{"option --ask", "No --allow changes that"}},
		"ceiling":       {bounded, perm(policy.Import, "os"), "", []string{"The ceiling restricted does not list the module os.", "No --allow changes that"}},
		"no such rule":  {frozen(t, "restricted"), perm(policy.Env, "A*B"), "", []string{"No --allow can name exactly this."}},
		"private":       {frozen(t, "user_confirmed", "net(*)"), perm(policy.Net, "169.254.169.254:80"), "private(169.254.169.254:80)", []string{"private(…)"}},
		"program":       {frozen(t, "user_confirmed"), perm(policy.Run, "git"), "run(git)", nil},
		"whole program": {frozen(t, "restricted"), perm(policy.Run, "*"), "run(*)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := authz.Explain(everyMechanism, c.frozen, []policy.Permission{c.p})[0]
			if v.Decision.Effect == policy.Allow || v.Allow != c.allow {
				t.Errorf("verdict: %+v", v)
			}
			for _, h := range c.hints {
				if !strings.Contains(v.Hint, h) {
					t.Errorf("hint %q lacks %q", v.Hint, h)
				}
			}
			if c.allow == "" {
				return
			}
			more := gear.Overlays{Allow: []policy.Rule{rule(t, c.allow)}}
			if f, err := gear.Freeze(restricted, nil, nil, more); err != nil || f.Decide(c.p).Effect != policy.Allow {
				t.Errorf("%s does not allow it: %v", c.allow, err)
			}
		})
	}
}

func TestRuleThatCannotBeCarriedOutYetIsNamedWithThatCaveat(t *testing.T) {
	for _, name := range []string{"restricted", "user_confirmed"} {
		v := authz.Explain(noMechanism, frozen(t, name), []policy.Permission{perm(policy.Net, "api.github.com:443")})[0]
		if v.Allow != "net(api.github.com:443)" || !strings.Contains(v.Hint, "cannot carry such a grant out yet") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestMechanismIsAskedWithTheNamedRuleInForce(t *testing.T) {
	// As for reading a host path, which is shown from the start or not at all.
	fromTheStart := func(g gear.Frozen, p policy.Permission) (bool, string) {
		return g.Decide(p).Effect == policy.Allow, "It is not shown."
	}
	v := authz.Explain(fromTheStart, frozen(t, "user_confirmed"), []policy.Permission{perm(policy.Read, "/data/a.csv")})[0]
	if v.Allow != "read(/data/a.csv)" || strings.Contains(v.Hint, "cannot carry") || v.Decision.Effect != policy.Ask {
		t.Errorf("verdict: %+v", v)
	}
}

func TestExplainNamesRuleLayerAndReason(t *testing.T) {
	f := frozen(t, "restricted", "import(sqlite3)", "net(example.com)")
	lines := authz.Explain(noMechanism, f, []policy.Permission{
		perm(policy.Import, "json"), perm(policy.Write, "/tmp/x"), perm(policy.Net, "example.com:80"), perm(policy.Import, "os"),
	})
	want := []struct {
		effect policy.Effect
		rule   string
		layer  policy.Layer
	}{
		{policy.Deny, "import(json)", policy.GearAllow}, // nothing here carries out a grant
		{policy.Allow, "sandbox", policy.SandboxOwn},
		{policy.Deny, "net(example.com)", policy.OperatorAllow},
		{policy.Deny, "default", policy.DefaultLayer},
	}
	for i, l := range lines {
		d := l.Decision
		if d.Effect != want[i].effect || d.Rule != want[i].rule || d.Layer != want[i].layer || d.Permission.Line != 3 || l.Hint == "" {
			t.Errorf("%+v", l)
		}
	}
}

func rule(t *testing.T, text string) policy.Rule {
	t.Helper()
	r, err := policy.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
