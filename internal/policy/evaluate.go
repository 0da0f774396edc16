package policy

import "slices"

// Layer is where a decision was made.
type Layer string

// The layers, in the order in which they are asked.
const (
	GearDeny      Layer = "gear deny"
	CeilingLayer  Layer = "ceiling"
	OperatorDeny  Layer = "operator deny"
	OperatorAsk   Layer = "operator ask"
	OperatorAllow Layer = "operator allow"
	GearAsk       Layer = "gear ask"
	GearAllow     Layer = "gear allow"
	SandboxOwn    Layer = "sandbox"
	DefaultLayer  Layer = "default"
	// ApprovalLayer is a human's yes to exactly this, where the rules ask.
	ApprovalLayer Layer = "approval"
)

// RuleSet is three lists of rules. Within one, deny wins over ask and ask over allow.
type RuleSet struct{ Deny, Ask, Allow []Rule }

// Bundle is a rule set with a name to speak of and the effect of what no rule
// covers. An unknown Default is [Deny].
type Bundle struct {
	Name    string
	Rules   RuleSet
	Default Effect
}

// Layers is all that decides.
type Layers struct {
	Gear Bundle
	// Ceiling is the most that the principal may have. It never widens.
	Ceiling *Bundle
	// Operator holds the overlays of the operator.
	Operator RuleSet
	// Own are the names of environment variables that the sandbox itself sets.
	// They, its scratch, /proc and /dev need no permission unless a rule says so.
	Own []string
}

// Evaluate decides on one permission. The order is: the gear's deny, the
// ceiling, the operator's deny, ask and allow, the gear's ask and allow, the
// gear's default. The ceiling answers for itself, and of its answer and the rest
// the stricter one holds.
func Evaluate(l Layers, p Permission) Decision {
	if r, ok := find(l.Gear.Rules.Deny, p, Rule.touch); ok {
		return byRule(p, Deny, GearDeny, r, "the gear "+l.Gear.Name)
	}
	rest := l.belowCeiling(p)
	if l.Ceiling == nil {
		return rest
	}
	c := l.Ceiling.evaluate(p, l.Own)
	if c.Effect == Deny {
		return c // before the operator's rules, so that the answer names what stands higher
	}
	return Stricter(rest, c)
}

func (l Layers) belowCeiling(p Permission) Decision {
	gear := "the gear " + l.Gear.Name
	if r, ok := find(l.Operator.Deny, p, Rule.touch); ok {
		return byRule(p, Deny, OperatorDeny, r, r.operator())
	}
	if r, ok := find(l.Operator.Ask, p, Rule.touch); ok {
		return byRule(p, Ask, OperatorAsk, r, r.operator())
	}
	if r, ok := find(l.Operator.Allow, p, Rule.match); ok {
		return byRule(p, Allow, OperatorAllow, r, r.operator())
	}
	if r, ok := find(l.Gear.Rules.Ask, p, Rule.touch); ok {
		return byRule(p, Ask, GearAsk, r, gear)
	}
	if r, ok := find(l.Gear.Rules.Allow, p, Rule.match); ok {
		return byRule(p, Allow, GearAllow, r, gear)
	}
	return byDefault(p, gear, l.Gear.Default, l.Own)
}

// evaluate decides as a ceiling: the bundle alone.
func (b Bundle) evaluate(p Permission, own []string) Decision {
	who := "the ceiling " + b.Name
	if r, ok := find(b.Rules.Deny, p, Rule.touch); ok {
		return byRule(p, Deny, CeilingLayer, r, who)
	}
	if r, ok := find(b.Rules.Ask, p, Rule.touch); ok {
		return byRule(p, Ask, CeilingLayer, r, who)
	}
	if r, ok := find(b.Rules.Allow, p, Rule.match); ok {
		return byRule(p, Allow, CeilingLayer, r, who)
	}
	d := byDefault(p, who, b.Default, own)
	d.Layer = CeilingLayer
	return d
}

// find is the first rule that holds, reduced to the pattern that does.
func find(rules []Rule, p Permission, holds func(Rule, Permission) (Rule, bool)) (Rule, bool) {
	for _, r := range rules {
		if reduced, ok := holds(r, p); ok {
			return reduced, true
		}
	}
	return Rule{}, false
}

// byDefault decides what no rule covers.
func byDefault(p Permission, who string, effect Effect, own []string) Decision {
	d := Decision{Permission: p, Effect: Deny, Rule: "default", Layer: DefaultLayer}
	if IsOwn(p, own) {
		d.Effect, d.Rule, d.Layer = Allow, string(SandboxOwn), SandboxOwn
		d.Reason = "Every sandbox has this of its own, so nobody needs to permit it."
		return d
	}
	if effect == Allow || effect == Ask {
		d.Effect = effect
	}
	if d.Effect == Ask && p.Kind == Tool && p.ReadOnly {
		d.Effect, d.Rule, d.Named = Allow, "read-only", true
		d.Reason = "The operator trusts this server, which says that the tool only reads."
		return d
	}
	if d.Effect == Ask && IsPrivate(p) {
		d.Effect = Deny
	}
	d.Reason, d.Hint = explainDefault(d, who), hint(d)
	return d
}

func byRule(p Permission, e Effect, l Layer, r Rule, who string) Decision {
	d := Decision{Permission: p, Effect: e, Rule: r.String(), Named: true, Layer: l}
	d.Reason, d.Hint = explainRule(d, who, r.Match(p)), hint(d)
	return d
}

// Stricter is the one of two decisions on the same permission that grants less:
// deny, then ask, then allow by a default (which grants nothing outside the
// sandbox), then allow by a rule. When they grant the same it is a.
func Stricter(a, b Decision) Decision {
	if rank(b) < rank(a) {
		return b
	}
	return a
}

func rank(d Decision) int {
	switch {
	case d.Effect == Ask:
		return 1
	case d.Effect == Allow && !d.Named:
		return 2
	case d.Effect == Allow:
		return 3
	}
	return 0
}

// IsPrivate reports whether the permission is for an address that only a
// private(…) rule reaches.
func IsPrivate(p Permission) bool {
	if p.Kind != Net {
		return false
	}
	e, ok := parseEndpoint(p.Target)
	return ok && e.host.hidden
}

// IsOwn reports whether the permission is for something that every sandbox has
// of its own. own are the environment variables that it sets.
func IsOwn(p Permission, own []string) bool {
	if unknown(p.Target) {
		return false
	}
	switch p.Kind {
	case Env:
		return slices.Contains(own, p.Target)
	case Read:
		return p.Target == "/" || isScratch(p.Target) // the root is the sandbox's own, and may be listed
	case Write:
		return isScratch(p.Target)
	default:
		return false
	}
}

// isScratch covers what is private to a run or made up by its kernel. A path
// below a home directory is none of it, whatever the sandbox calls home.
func isScratch(target string) bool {
	if target[0] == '~' {
		return false
	}
	top := pathSegments(target)
	return len(top) > 0 && slices.Contains([]string{"tmp", workspace[1:], "proc", "dev"}, top[0])
}
