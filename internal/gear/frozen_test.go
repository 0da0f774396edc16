package gear_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func builtin(t testing.TB, name string) gear.Gear {
	t.Helper()
	g, err := gear.OpenRegistry(t.TempDir()).Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func freeze(t testing.TB, server gear.Gear, call, ceiling *gear.Gear, o gear.Overlays) gear.Frozen {
	t.Helper()
	f, err := gear.Freeze(server, call, ceiling, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func overlays(t testing.TB, allow, ask, deny []string) gear.Overlays {
	t.Helper()
	o, err := gear.ParseOverlays(allow, ask, deny)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func effect(f gear.Frozen, k policy.Kind, target string) policy.Effect {
	return f.Decide(policy.Permission{Kind: k, Target: target}).Effect
}

// The table of the design: what each built-in gear says of typical permissions.
func TestBuiltinGearsDecide(t *testing.T) {
	for _, row := range []struct {
		kind                         policy.Kind
		target                       string
		restricted, confirmed, trust policy.Effect
	}{
		{policy.Import, "math", policy.Allow, policy.Allow, policy.Allow},
		{policy.Import, "urllib.parse", policy.Allow, policy.Allow, policy.Allow},
		{policy.Import, "numpy.linalg", policy.Allow, policy.Allow, policy.Allow},
		{policy.Import, "urllib.request", policy.Deny, policy.Allow, policy.Allow},
		{policy.Import, "subprocess", policy.Deny, policy.Allow, policy.Allow},
		{policy.Import, "os", policy.Deny, policy.Allow, policy.Allow},
		{policy.Import, "socket", policy.Deny, policy.Allow, policy.Allow},
		{policy.Unsafe, "eval", policy.Deny, policy.Allow, policy.Allow},
		{policy.Unsafe, "unanalysable", policy.Deny, policy.Allow, policy.Allow},
		{policy.Run, "python", policy.Deny, policy.Allow, policy.Allow},
		{policy.Run, "grep", policy.Deny, policy.Allow, policy.Allow},
		{policy.Run, "/usr/bin/sort", policy.Deny, policy.Allow, policy.Allow},
		{policy.Run, "curl", policy.Deny, policy.Ask, policy.Allow},
		{policy.Run, "git", policy.Deny, policy.Ask, policy.Allow},
		{policy.Run, "./grep", policy.Deny, policy.Ask, policy.Allow},
		{policy.Run, "*", policy.Deny, policy.Ask, policy.Allow},
		{policy.Net, "api.github.com:443", policy.Deny, policy.Ask, policy.Allow},
		{policy.Net, "169.254.169.254:80", policy.Deny, policy.Deny, policy.Allow},
		{policy.Read, "/etc/passwd", policy.Deny, policy.Ask, policy.Allow},
		{policy.Read, "/tmp/x", policy.Allow, policy.Allow, policy.Allow},
		{policy.Write, "out.csv", policy.Allow, policy.Allow, policy.Allow},
		{policy.Write, "/etc/passwd", policy.Deny, policy.Ask, policy.Allow},
		{policy.Env, "TOKEN", policy.Deny, policy.Ask, policy.Allow},
		{policy.Env, "HOME", policy.Allow, policy.Allow, policy.Allow},
		{policy.Install, "pandas", policy.Deny, policy.Ask, policy.Allow},
		{policy.Tool, "github.create_issue", policy.Deny, policy.Ask, policy.Allow},
	} {
		for name, want := range map[string]policy.Effect{"restricted": row.restricted, "user_confirmed": row.confirmed, "full_trust": row.trust} {
			if got := effect(freeze(t, builtin(t, name), nil, nil, gear.Overlays{}), row.kind, row.target); got != want {
				t.Errorf("%s: %s(%s) is %s, want %s", name, row.kind, row.target, got, want)
			}
		}
	}
}

func TestBuiltinGearsListTheModulesOfTheDesign(t *testing.T) {
	f := freeze(t, builtin(t, "restricted"), nil, nil, gear.Overlays{})
	for _, m := range strings.Fields("math cmath statistics decimal fractions random datetime time calendar zoneinfo json csv re string textwrap " +
		"unicodedata collections itertools functools operator heapq bisect dataclasses enum typing abc copy pprint io hashlib hmac base64 " +
		"struct uuid html urllib.parse asyncio numpy pandas") {
		if effect(f, policy.Import, m) != policy.Allow {
			t.Errorf("restricted does not list %s", m)
		}
	}
	if s := f.Source(); s.Characters != 8000 || s.Lines != 400 {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(f.Languages(), []execution.Language{execution.Python}) || f.AllowsLanguage(execution.Bash) {
		t.Errorf("%v", f.Languages())
	}
	if l := f.Limits(); l.MaxTimeout != time.Minute || l.Timeout != 10*time.Second || l.Memory != 512*execution.MiB {
		t.Errorf("%+v", l)
	}
	if f.Programs() != nil || f.Forks() {
		t.Errorf("restricted runs programs: %v", f.Programs())
	}
}

func TestBuiltinGearsInOutline(t *testing.T) {
	read := freeze(t, builtin(t, "read_only"), nil, nil, gear.Overlays{})
	confirmed := freeze(t, builtin(t, "user_confirmed"), nil, nil, gear.Overlays{})
	trust := freeze(t, builtin(t, "full_trust"), nil, nil, gear.Overlays{})
	if read.Enabled() || !confirmed.Enabled() || !trust.Enabled() {
		t.Error("execution")
	}
	if read.Isolation() != gear.Sandbox || confirmed.Isolation() != gear.Sandbox || trust.Isolation() != gear.None {
		t.Error("isolation")
	}
	if !confirmed.Forks() || !slices.Contains(confirmed.Programs(), "grep") || slices.Contains(confirmed.Programs(), "*") {
		t.Errorf("user_confirmed: %v", confirmed.Programs())
	}
	if !slices.Equal(trust.Programs(), []string{"*"}) {
		t.Errorf("full_trust: %v", trust.Programs())
	}
	if confirmed.Limits() != execution.DefaultLimits() {
		t.Errorf("%+v", confirmed.Limits())
	}
	for _, g := range gear.Builtin() {
		if len(g.Rules.Deny) > 0 {
			t.Errorf("%s denies what an operator may open", g.Name)
		}
	}
}

func TestZeroFrozenDeniesEverything(t *testing.T) {
	var f gear.Frozen
	if !f.IsZero() || f.Enabled() || f.Name() != "" || !f.Digest().IsZero() || f.Isolation() != gear.Sandbox || f.Programs() != nil || f.Forks() {
		t.Error("the zero value is something")
	}
	if effect(f, policy.Import, "math") != policy.Deny || f.AllowsLanguage(execution.Python) || f.Env() != nil || f.Rules() != nil {
		t.Error("the zero value permits something")
	}
}

func TestOperatorOpensABuiltinGear(t *testing.T) {
	o := overlays(t, []string{"net(api.github.com:443)", "run(git)"}, []string{"run(grep)"}, []string{"run(rm)"})
	f := freeze(t, builtin(t, "user_confirmed"), nil, nil, o)
	if effect(f, policy.Net, "api.github.com:443") != policy.Allow || effect(f, policy.Run, "git") != policy.Allow {
		t.Error("not opened")
	}
	if effect(f, policy.Run, "grep") != policy.Ask || effect(f, policy.Run, "rm") != policy.Deny {
		t.Error("not closed")
	}
	p := f.Programs()
	if !slices.Contains(p, "git") || slices.Contains(p, "grep") || slices.Contains(p, "rm") || !slices.IsSorted(p) {
		t.Errorf("programs: %v", p)
	}
}

func TestCallOnlyNarrows(t *testing.T) {
	restricted, confirmed := builtin(t, "restricted"), builtin(t, "user_confirmed")
	open := gear.Gear{Name: "open", Execution: true, Isolation: gear.Sandbox, Default: policy.Allow, Languages: confirmed.Languages}
	for _, pair := range [][2]gear.Gear{{confirmed, restricted}, {restricted, confirmed}, {restricted, open}} {
		f := freeze(t, pair[0], &pair[1], nil, gear.Overlays{})
		if effect(f, policy.Import, "subprocess") != policy.Deny || effect(f, policy.Import, "math") != policy.Allow {
			t.Errorf("%s", f.Name())
		}
		if f.Programs() != nil || f.Limits().MaxTimeout != time.Minute || f.Source().Lines != 400 || f.AllowsLanguage(execution.Bash) {
			t.Errorf("%s: %v %+v", f.Name(), f.Programs(), f.Limits())
		}
	}
	off := builtin(t, "read_only")
	if freeze(t, confirmed, &off, nil, gear.Overlays{}).Enabled() {
		t.Error("a gear with execution off runs code")
	}
	narrowed := freeze(t, open, &confirmed, nil, gear.Overlays{})
	if !slices.Contains(narrowed.Programs(), "grep") || slices.Contains(narrowed.Programs(), "*") || narrowed.Name() != "open+user_confirmed" {
		t.Errorf("%s: %v", narrowed.Name(), narrowed.Programs())
	}
}

func TestCallCannotLeaveTheSandbox(t *testing.T) {
	trust, confirmed := builtin(t, "full_trust"), builtin(t, "user_confirmed")
	if _, err := gear.Freeze(confirmed, &trust, nil, gear.Overlays{}); !errors.Is(err, gear.ErrIsolation) || !strings.Contains(err.Error(), "user_confirmed") {
		t.Error(err)
	}
	if f := freeze(t, trust, &trust, nil, gear.Overlays{}); f.Isolation() != gear.None || f.Name() != "full_trust" {
		t.Error(f.Name(), f.Isolation())
	}
	for _, f := range []gear.Frozen{freeze(t, trust, &confirmed, nil, gear.Overlays{}), freeze(t, trust, nil, &confirmed, gear.Overlays{})} {
		if f.Isolation() != gear.Sandbox || effect(f, policy.Run, "curl") != policy.Ask {
			t.Errorf("%s: %s", f.Name(), f.Isolation())
		}
	}
}

func TestWithoutSandboxNoOverlayCanRefuse(t *testing.T) {
	trust := builtin(t, "full_trust")
	for _, o := range []gear.Overlays{overlays(t, nil, nil, []string{"run(rm)"}), overlays(t, nil, []string{"run(rm)"}, nil)} {
		if _, err := gear.Freeze(trust, nil, nil, o); err == nil {
			t.Error("a rule that nothing holds was accepted")
		}
	}
	if _, err := gear.Freeze(trust, nil, nil, overlays(t, []string{"run(git)"}, nil, nil)); err != nil {
		t.Error(err)
	}
}

func TestCeilingIsNeverExceeded(t *testing.T) {
	confirmed, restricted := builtin(t, "user_confirmed"), builtin(t, "restricted")
	f := freeze(t, confirmed, nil, &restricted, overlays(t, []string{"import(subprocess)", "net(*)"}, nil, nil))
	if effect(f, policy.Import, "subprocess") != policy.Deny || effect(f, policy.Net, "a.example:443") != policy.Deny {
		t.Error("an overlay reached past the ceiling")
	}
	if f.Limits().MaxTimeout != time.Minute || f.Programs() != nil {
		t.Errorf("%+v %v", f.Limits(), f.Programs())
	}
}

func TestCeilingCallAndServerAreAllNamedAndTheStrictestHolds(t *testing.T) {
	confirmed, restricted, off := builtin(t, "user_confirmed"), builtin(t, "restricted"), builtin(t, "read_only")
	for name, f := range map[string]gear.Frozen{
		"user_confirmed":                      freeze(t, confirmed, nil, nil, gear.Overlays{}),
		"user_confirmed+restricted":           freeze(t, confirmed, nil, &restricted, gear.Overlays{}),
		"user_confirmed+read_only+restricted": freeze(t, confirmed, &off, &restricted, gear.Overlays{}),
		"restricted":                          freeze(t, restricted, nil, &restricted, gear.Overlays{}),
		"restricted+user_confirmed":           freeze(t, restricted, &confirmed, &confirmed, gear.Overlays{}),
	} {
		if f.Name() != name {
			t.Errorf("%s is called %s", name, f.Name())
		}
		if strings.Contains(name, "restricted") && (effect(f, policy.Import, "subprocess") != policy.Deny || f.AllowsLanguage(execution.Bash)) {
			t.Errorf("%s is wider than one of them", name)
		}
		if f.Enabled() == strings.Contains(name, "read_only") {
			t.Errorf("%s: enabled %v", name, f.Enabled())
		}
	}
}

func TestRefusingOneProgramLeavesThoseThatAreNamed(t *testing.T) {
	open := gear.Gear{Name: "open", Execution: true, Isolation: gear.Sandbox, Default: policy.Allow}
	if p := freeze(t, open, nil, nil, gear.Overlays{}).Programs(); !slices.Equal(p, []string{"*"}) {
		t.Errorf("%v", p)
	}
	f := freeze(t, open, nil, nil, overlays(t, []string{"run(git)"}, nil, []string{"run(rm)"}))
	if p := f.Programs(); !slices.Equal(p, []string{"git"}) {
		t.Errorf("%v", p)
	}
	d := f.Decide(policy.Permission{Kind: policy.Run, Target: "ls"})
	if d.Effect != policy.Deny || !strings.Contains(d.Reason, "by name") {
		t.Errorf("%+v", d)
	}
}

func TestGearsOwnEnvironmentNeedsNoPermission(t *testing.T) {
	g := gear.Gear{Name: "g", Execution: true, Isolation: gear.Sandbox, Default: policy.Deny, Env: map[string]string{"A": "1", "B": "2"}}
	f := freeze(t, g, nil, nil, gear.Overlays{})
	if effect(f, policy.Env, "A") != policy.Allow || effect(f, policy.Env, "C") != policy.Deny {
		t.Error("environment")
	}
	f.Env()["A"] = "changed"
	g.Env["B"] = "changed"
	if !maps.Equal(f.Env(), map[string]string{"A": "1", "B": "2"}) {
		t.Error("what is frozen was changed")
	}
	call := g
	call.Env = map[string]string{"A": "1", "C": "3"}
	if env := freeze(t, g, &call, nil, gear.Overlays{}).Env(); !maps.Equal(env, map[string]string{"A": "1"}) {
		t.Errorf("a call brought environment in: %v", env)
	}
	if f := freeze(t, g, nil, &call, gear.Overlays{}); !maps.Equal(f.Env(), map[string]string{"A": "1"}) || effect(f, policy.Env, "B") == policy.Allow {
		t.Errorf("the ceiling lets through what it does not have: %v", f.Env())
	}
}

func TestDigestCoversAllThatDecides(t *testing.T) {
	base := builtin(t, "user_confirmed")
	restricted := builtin(t, "restricted")
	changed := func(change func(*gear.Gear)) gear.Gear { g := base; change(&g); return g }
	seen := map[execution.Digest]string{}
	for name, f := range map[string]gear.Frozen{
		"plain":     freeze(t, base, nil, nil, gear.Overlays{}),
		"call":      freeze(t, base, &restricted, nil, gear.Overlays{}),
		"ceiling":   freeze(t, base, nil, &restricted, gear.Overlays{}),
		"allow":     freeze(t, base, nil, nil, overlays(t, []string{"run(git)"}, nil, nil)),
		"ask":       freeze(t, base, nil, nil, overlays(t, nil, []string{"run(git)"}, nil)),
		"deny":      freeze(t, base, nil, nil, overlays(t, nil, nil, []string{"run(git)"})),
		"default":   freeze(t, changed(func(g *gear.Gear) { g.Default = policy.Deny }), nil, nil, gear.Overlays{}),
		"limits":    freeze(t, changed(func(g *gear.Gear) { g.Limits.Memory = execution.GiB }), nil, nil, gear.Overlays{}),
		"env":       freeze(t, changed(func(g *gear.Gear) { g.Env = map[string]string{"A": "1"} }), nil, nil, gear.Overlays{}),
		"source":    freeze(t, changed(func(g *gear.Gear) { g.Source.Lines = 1 }), nil, nil, gear.Overlays{}),
		"languages": freeze(t, changed(func(g *gear.Gear) { g.Languages = g.Languages[:1] }), nil, nil, gear.Overlays{}),
		"execution": freeze(t, changed(func(g *gear.Gear) { g.Execution = false }), nil, nil, gear.Overlays{}),
		"name":      freeze(t, changed(func(g *gear.Gear) { g.Name = "other" }), nil, nil, gear.Overlays{}),
	} {
		if twin, ok := seen[f.Digest()]; ok {
			t.Errorf("%s and %s have one digest", name, twin)
		}
		seen[f.Digest()] = name
	}
	if freeze(t, base, nil, nil, gear.Overlays{}).Digest() != freeze(t, builtin(t, "user_confirmed"), nil, nil, gear.Overlays{}).Digest() {
		t.Error("equal bases have two digests")
	}
	described := changed(func(g *gear.Gear) { g.Description = "x"; g.Origin = "/elsewhere" })
	if freeze(t, described, nil, nil, gear.Overlays{}).Digest() != freeze(t, base, nil, nil, gear.Overlays{}).Digest() {
		t.Error("a description decides")
	}
}

func TestGrantingIsTriedOnAllThatDecides(t *testing.T) {
	restricted := builtin(t, "restricted")
	closed := restricted
	closed.Rules.Deny = []policy.Rule{overlays(t, nil, nil, []string{"import(os)"}).Deny[0]}
	imports := policy.Permission{Kind: policy.Import, Target: "os"}
	for name, c := range map[string]struct {
		frozen gear.Frozen
		p      policy.Permission
		rule   string
		helps  bool
	}{
		"default":            {freeze(t, restricted, nil, nil, gear.Overlays{}), imports, "import(os)", true},
		"named by the call":  {freeze(t, builtin(t, "user_confirmed"), &restricted, nil, gear.Overlays{}), imports, "import(os)", true},
		"gear's deny":        {freeze(t, closed, nil, nil, gear.Overlays{}), imports, "import(os)", false},
		"the call's deny":    {freeze(t, restricted, &closed, nil, gear.Overlays{}), imports, "import(os)", false},
		"ceiling":            {freeze(t, builtin(t, "user_confirmed"), nil, &restricted, gear.Overlays{}), imports, "import(os)", false},
		"operator's deny":    {freeze(t, restricted, nil, nil, overlays(t, nil, nil, []string{"import(os)"})), imports, "import(os)", false},
		"operator's ask":     {freeze(t, restricted, nil, nil, overlays(t, nil, []string{"import(os)"}, nil)), imports, "import(os)", false},
		"program":            {freeze(t, restricted, nil, nil, gear.Overlays{}), policy.Permission{Kind: policy.Run, Target: "git"}, "run(git)", true},
		"every program":      {freeze(t, restricted, nil, nil, gear.Overlays{}), policy.Permission{Kind: policy.Run, Target: "*"}, "run(*)", true},
		"private address":    {freeze(t, restricted, nil, nil, gear.Overlays{}), policy.Permission{Kind: policy.Net, Target: "10.0.0.1:80"}, "private(10.0.0.1:80)", true},
		"nothing to be said": {freeze(t, restricted, nil, nil, gear.Overlays{}), policy.Permission{Kind: policy.Env, Target: "A*B"}, "", false},
		"no gear":            {gear.Frozen{}, imports, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, then := c.frozen.Granting(c.p)
			if helps := then.Decide(c.p).Effect == policy.Allow; got != c.rule || helps != c.helps {
				t.Errorf("rule %q, helps: %v", got, helps)
			}
			if !then.Digest().IsZero() {
				t.Error("what would decide has a digest, so it could be taken for what does")
			}
			if c.frozen.Decide(c.p).Effect == policy.Allow {
				t.Error("asking changed what decides")
			}
		})
	}
}

func TestReasonsSayWhereTheOperatorsRuleStands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte("deny: [import(os)]\nask: [import(re)]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := gear.LoadOverlays(path)
	if err != nil {
		t.Fatal(err)
	}
	f := freeze(t, builtin(t, "restricted"), nil, nil, file.With(overlays(t, []string{"import(a)"}, nil, []string{"import(b)"})))
	for target, want := range map[string]string{
		"os": "The operator's rules.yaml denies import(os).",
		"re": "The operator's rules.yaml wants a human to approve the module re.",
		"a":  "The operator's option --allow allows import(a).",
		"b":  "The operator's option --deny denies import(b).",
	} {
		if got := f.Decide(policy.Permission{Kind: policy.Import, Target: target}).Reason; got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

func TestRulesAreListedInTheOrderInWhichTheyDecide(t *testing.T) {
	restricted := builtin(t, "restricted")
	f := freeze(t, builtin(t, "user_confirmed"), &restricted, &restricted, overlays(t, []string{"run(a)"}, []string{"run(b)"}, []string{"run(c)"}))
	var layers []string
	for _, l := range f.Rules() {
		layers = append(layers, string(l.Layer))
	}
	want := []string{"ceiling", "operator deny", "operator ask", "operator allow", "gear allow", "default", "named by the call"}
	if !slices.Equal(layers, want) {
		t.Errorf("%v", layers)
	}
}
