package gear_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

func confirmed(t testing.TB, ceiling *gear.Gear, allow, ask, deny []string) gear.Frozen {
	t.Helper()
	o, err := gear.ParseOverlays(allow, ask, deny)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gear.OpenRegistry(t.TempDir()).Get("user_confirmed")
	if err != nil {
		t.Fatal(err)
	}
	f, err := gear.Freeze(g, nil, ceiling, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func one(k policy.Kind, target string) policy.Permission {
	return policy.Permission{Kind: k, Target: target, Line: 7, Column: 2}
}

// neighbours are permissions that somebody might take for another one.
func neighbours() []policy.Permission {
	var all []policy.Permission
	for k, targets := range map[policy.Kind][]string{
		policy.Run:     {"mount", "umount", "mount,umount", "mou*", "**", "*", "/usr/bin/mount", "{mount,umount}", "git", ""},
		policy.Read:    {"/srv/a", "/srv/a/b", "/srv", "/srv/*", "/srv/**", "/**", "*", "**", "/srv/a/any", "/srv/any", "/srv/a\n/srv/b", "~/a"},
		policy.Write:   {"/srv/a", "/srv/**", "*"},
		policy.Env:     {"HOME_TOWN", "HOME_*", "*", "TOKEN"},
		policy.Net:     {"example.com:443", "example.com:80", "*.example.com:443", "*", "10.0.0.1:80", "127.0.0.1:80", "example.com"},
		policy.Install: {"requests", "requests==2", "*"},
		policy.Tool:    {"github.create_issue", "github.*", "*"},
		policy.Import:  {"os", "*"},
		policy.Unsafe:  {"eval", "*"},
	} {
		for _, target := range targets {
			all = append(all, one(k, target))
		}
	}
	return all
}

// Each permission is approved alone, in each basis, and all of them are looked at.
func TestAYesTurnsOneAskIntoOneAllowAndNothingElse(t *testing.T) {
	restricted := registered(t, "restricted")
	for name, f := range map[string]gear.Frozen{
		"default":       confirmed(t, nil, nil, nil, nil),
		"rules":         confirmed(t, nil, []string{"read(/srv/a)"}, []string{"run(git)", "net(*)", "private(10.0.0.1:80)"}, []string{"run(umount)", "read(/srv/a/b)"}),
		"under ceiling": confirmed(t, &restricted, nil, nil, nil),
	} {
		for _, p := range neighbours() {
			g := f.Approved([]policy.Permission{p})
			for _, q := range neighbours() {
				before, after := f.Decide(q), g.Decide(q)
				exact := q.Kind == p.Kind && q.Target == p.Target
				switch {
				case exact && before.Effect == policy.Ask:
					if after.Effect != policy.Allow || after.Layer != policy.ApprovalLayer || !after.Named {
						t.Errorf("%s: %s was approved and is %+v", name, q, after)
					}
				case after.Effect != before.Effect && !anyProgram(p, q, before):
					t.Errorf("%s: after a yes to %s %s is %s and not %s", name, p, q, after.Effect, before.Effect)
				}
			}
		}
	}
}

// anyProgram is true where the sandbox, and not a rule, says what may be run: when all of
// the host's programs are there, those that a default allows are too.
func anyProgram(p, q policy.Permission, before policy.Decision) bool {
	return p.Kind == policy.Run && p.Target == "*" && q.Kind == policy.Run && !before.Named
}

func registered(t testing.TB, name string) gear.Gear {
	t.Helper()
	g, err := gear.OpenRegistry(t.TempDir()).Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// What the sandbox is made for is what was approved, and what the gear grants anyway.
func TestAYesGrantsItsTargetAndNothingElse(t *testing.T) {
	f := confirmed(t, nil, nil, nil, nil)
	granted := func(g gear.Frozen) []string {
		all := g.Programs()
		for _, k := range []policy.Kind{policy.Read, policy.Env} {
			for _, target := range g.Granted(k) {
				all = append(all, string(k)+" "+target)
			}
		}
		return all
	}
	base := granted(f)
	for _, c := range []struct {
		p    policy.Permission
		want []string
	}{
		{one(policy.Run, "mount"), []string{"mount"}},
		{one(policy.Run, "mou*"), []string{"mou*"}}, // a file of that name, if there is one
		{one(policy.Run, "mount,umount"), nil},
		{one(policy.Run, "mount\numount"), nil},
		{one(policy.Read, "/srv/a"), []string{"read /srv/a"}},
		{one(policy.Read, "/srv/**"), nil}, // which a sandbox would take for the directory
		{one(policy.Read, "/srv/a\n/etc/shadow"), nil},
		{one(policy.Read, "*"), nil},
		{one(policy.Read, "srv"), nil},
		{one(policy.Env, "TOKEN"), []string{"env TOKEN"}},
		{one(policy.Env, "T*"), []string{"env T*"}}, // a variable of that name
		{one(policy.Net, "example.com:443"), nil},
		{one(policy.Unsafe, "eval"), nil},
	} {
		g := f.Approved([]policy.Permission{c.p})
		more := slices.DeleteFunc(granted(g), func(s string) bool { return slices.Contains(base, s) })
		if !slices.Equal(more, c.want) {
			t.Errorf("after a yes to %s there is %q, and not %q", c.p, more, c.want)
		}
		if g.Digest() == f.Digest() {
			t.Errorf("%s: what was approved has the digest of what was not", c.p)
		}
		if limits := g.Limits(); limits != f.Limits() || g.Name() != f.Name() || g.Isolation() != f.Isolation() {
			t.Errorf("%s changes more than what is granted", c.p)
		}
	}
	if got := f.Approved([]policy.Permission{one(policy.Run, "*")}).Programs(); !slices.Equal(got, []string{"*"}) {
		t.Errorf("a yes to any program gives %q", got)
	}
	if got := confirmed(t, nil, nil, nil, []string{"run(curl)"}).Approved([]policy.Permission{one(policy.Run, "*")}).Programs(); slices.Contains(got, "*") {
		t.Errorf("a yes to any program gives one that is denied: %q", got)
	}
}

// A directory is shown when rules allow all of it. A yes to one file in it is no such rule,
// whatever the file is called.
func TestAYesToAFileNeverShowsItsDirectory(t *testing.T) {
	ceiling := gear.Gear{Name: "bound", Execution: true, Isolation: gear.Sandbox, Default: policy.Ask, Languages: []execution.Language{execution.Python}}
	f := confirmed(t, &ceiling, []string{"read(/srv/**)"}, nil, nil)
	for _, name := range []string{"/srv/any", "/srv/a", "/srv/any/any"} {
		g := f.Approved([]policy.Permission{one(policy.Read, name)})
		if got := g.Granted(policy.Read); !slices.Equal(got, []string{name}) {
			t.Errorf("a yes to %s shows %q", name, got)
		}
	}
}

func TestWhatIsOnlyForSomeLanguagesHasAnotherDigest(t *testing.T) {
	f := confirmed(t, nil, nil, nil, nil)
	g := f.Only([]execution.Language{execution.Bash})
	if g.AllowsLanguage(execution.Python) || !g.AllowsLanguage(execution.Bash) || g.Digest() == f.Digest() || !f.AllowsLanguage(execution.Python) {
		t.Errorf("%v, %v", g.Languages(), f.Languages())
	}
}

func FuzzApprovedIsExact(f *testing.F) {
	for _, p := range neighbours() {
		f.Add(string(p.Kind), p.Target, string(p.Kind), strings.ToUpper(p.Target))
	}
	base := confirmed(f, nil, []string{"read(/srv/**)"}, []string{"run(git)"}, []string{"net(evil.example)", "run(curl)"})
	f.Fuzz(func(t *testing.T, kind, target, otherKind, otherTarget string) {
		p, q := policy.Permission{Kind: policy.Kind(kind), Target: target}, policy.Permission{Kind: policy.Kind(otherKind), Target: otherTarget}
		g := base.Approved([]policy.Permission{p})
		before, after := base.Decide(q), g.Decide(q)
		if before.Effect == policy.Deny && after.Effect != policy.Deny && !anyProgram(p, q, before) {
			t.Errorf("after a yes to %s %s is %s", p, q, after.Effect)
		}
		if before.Effect == policy.Ask && after.Effect == policy.Allow && (p.Kind != q.Kind || p.Target != q.Target) {
			t.Errorf("a yes to %s is one to %s", p, q)
		}
		for _, k := range []policy.Kind{policy.Read, policy.Env} {
			for _, shown := range g.Granted(k) {
				if !slices.Contains(base.Granted(k), shown) && (k != p.Kind || shown != p.Target || strings.HasSuffix(shown, "/**") || strings.Contains(shown, "\n") && k == policy.Read) {
					t.Errorf("a yes to %q shows %q", p, shown)
				}
			}
		}
	})
}
