package authz

import (
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Verdict is what the door says of one permission.
type Verdict struct {
	Decision policy.Decision
	// Hint is a sentence a model can act on; Allow is the rule that an operator
	// would add, empty when the permission is allowed and when no rule would help.
	Hint  string
	Allow string
}

// Mechanisms tells whether a grant of the permission, if there were one, could be
// carried out for exactly its target on the backend in use. The string is a
// sentence that says why not.
type Mechanisms func(gear.Frozen, policy.Permission) (ok bool, why string)

// Explain judges every permission as [Door.Authorize] would, without recording
// or permitting anything.
func Explain(m Mechanisms, g gear.Frozen, permissions []policy.Permission) []Verdict {
	out := make([]Verdict, 0, len(permissions))
	for _, p := range permissions {
		out = append(out, m.judge(g, p))
	}
	return out
}

const (
	neverAsked = "This would need a human's yes, but nobody is asked, because nothing here can carry it out for exactly this target after the start."
	notYet     = "This version cannot carry such a grant out yet, so the rule that would permit it does not help before a later one can."
)

// judge decides on one permission. What a rule allows or a human would be asked
// for is refused when nothing could carry it out: nobody should approve what then
// does not happen. What only a default allows is no grant and needs no mechanism.
func (m Mechanisms) judge(g gear.Frozen, p policy.Permission) Verdict {
	d := g.Decide(p)
	switch {
	case d.Effect == policy.Allow && !d.Named:
		return Verdict{Decision: d, Hint: d.Reason}
	case d.Effect == policy.Allow:
		if able, why := m(g, p); !able {
			d.Effect, d.Reason = policy.Deny, why
		}
		return Verdict{Decision: d, Hint: d.Reason}
	case d.Effect == policy.Ask:
		if able, _ := m(g.Approved([]policy.Permission{p}), p); !able {
			d.Effect, d.Reason = policy.Deny, neverAsked
		}
	}
	return m.advise(g, d)
}

// advise says what the author of the code and the operator can do. It tries the
// rule that it names: one that would change nothing is not named.
func (m Mechanisms) advise(g gear.Frozen, d policy.Decision) Verdict {
	v := Verdict{Decision: d, Hint: d.Reason}
	if d.Hint != "" {
		v.Hint += " " + d.Hint
	}
	rule, then := g.Granting(d.Permission)
	if rule == "" {
		v.Hint += " No --allow can name exactly this."
		return v
	}
	if left := then.Decide(d.Permission); left.Effect != policy.Allow {
		v.Hint += " " + obstacle(left)
		if left.Reason != d.Reason {
			v.Hint += " " + left.Reason
		}
		return v
	}
	v.Allow = rule
	if able, _ := m(then, d.Permission); !able {
		v.Hint += " " + notYet
	}
	return v
}

// obstacle says why a rule that allows would change nothing.
func obstacle(left policy.Decision) string {
	switch left.Layer {
	case policy.GearDeny:
		return "No --allow changes that: what a gear itself denies stands above the operator's rules."
	case policy.CeilingLayer:
		return "No --allow changes that: the ceiling stands above the operator's rules."
	case policy.OperatorDeny:
		return "No --allow changes that: a rule that denies stands above those that allow."
	case policy.OperatorAsk:
		return "No --allow changes that: a rule that asks stands above those that allow."
	default:
		return "No --allow changes that."
	}
}
