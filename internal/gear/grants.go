package gear

import (
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// tree ends a pattern that stands for everything below a directory.
const tree = "/**"

// Granted lists the targets of a kind that a rule allows by name, sorted: what a
// sandbox has to hold from the start so that the grant means something. For read
// that may also be a whole directory, written DIR/**. A pattern that stands for
// some files and not for their neighbours is not among them, and neither is a
// directory of which another rule takes a part out: no mount could carry those
// out exactly.
func (f Frozen) Granted(k policy.Kind) []string {
	if f.f == nil || f.f.isolation == None {
		return nil
	}
	if known, ok := f.f.grants[k]; ok {
		return slices.Clone(known)
	}
	return f.f.granted(k)
}

// allGrants are those that every run asks for.
func (f *frozen) allGrants() map[policy.Kind][]string {
	return map[policy.Kind][]string{policy.Read: f.granted(policy.Read), policy.Env: f.granted(policy.Env)}
}

func (f *frozen) granted(k policy.Kind) []string {
	var out []string
	for _, rule := range f.rules(func(s policy.RuleSet) []policy.Rule { return s.Allow }) {
		if rule.Kind() != k || rule.Private() {
			continue
		}
		names, _, open := rule.Names()
		for _, n := range names {
			if f.evaluate(policy.Permission{Kind: k, Target: n}).Effect == policy.Allow {
				out = append(out, n)
			}
		}
		for _, o := range open {
			if dir, ok := strings.CutSuffix(o, tree); ok && k == policy.Read && f.whole(dir) {
				out = append(out, o)
			}
		}
	}
	for _, p := range f.approved {
		if p.Kind == k && mountable(p) && f.evaluate(p).Layer == policy.ApprovalLayer {
			out = append(out, p.Target)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// whole reports whether a directory may be read from top to bottom. Only the rules can say
// so: what a human approved is one file.
func (f *frozen) whole(dir string) bool {
	if dir == "" || strings.Contains(dir, "*") {
		return false
	}
	if f.byRules(policy.Permission{Kind: policy.Read, Target: dir + "/any"}).Effect != policy.Allow {
		return false
	}
	against := f.rules(func(s policy.RuleSet) []policy.Rule { return slices.Concat(s.Deny, s.Ask) })
	return !slices.ContainsFunc(against, func(r policy.Rule) bool {
		return r.Kind() == policy.Read && reaches(r, dir)
	})
}

// reaches reports whether a rule may stand for something at or below dir.
func reaches(r policy.Rule, dir string) bool {
	names, all, open := r.Names()
	if all {
		return true
	}
	return slices.ContainsFunc(slices.Concat(names, open), func(pattern string) bool {
		fixed, _, _ := strings.Cut(pattern, "*")
		return strings.HasPrefix(fixed, dir+"/") || strings.HasPrefix(dir+"/", fixed) || fixed == dir
	})
}

// rules are those of every layer that has a word in the decision.
func (f *frozen) rules(of func(policy.RuleSet) []policy.Rule) []policy.Rule {
	sets := []policy.RuleSet{f.server.Rules, f.operator.set()}
	for _, g := range []*Gear{f.call, f.ceiling} {
		if g != nil {
			sets = append(sets, g.Rules)
		}
	}
	var out []policy.Rule
	for _, s := range sets {
		out = append(out, of(s)...)
	}
	return out
}
