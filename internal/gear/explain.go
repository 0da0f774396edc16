package gear

import "github.com/gearbox-mcp/gearbox/internal/policy"

// Line is one permission and what holds for it.
type Line struct {
	Permission policy.Permission
	Effect     policy.Effect
	// Rule is the rule that decided and Layer where it stands.
	Rule  string
	Layer policy.Layer
	Why   string
	Hint  string
}

// Explain decides on every permission without doing anything.
func Explain(f Frozen, permissions []policy.Permission) []Line {
	out := make([]Line, 0, len(permissions))
	for _, p := range permissions {
		d := f.Decide(p)
		out = append(out, Line{Permission: p, Effect: d.Effect, Rule: d.Rule, Layer: d.Layer, Why: d.Reason, Hint: d.Hint})
	}
	return out
}
