package upstream

import (
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Allows reports whether the operator's lists let a tool be seen and called. In a
// pattern * stands for any text and ? for one character, as in a rule.
func (s Spec) Allows(tool string) bool {
	return (len(s.Allow) == 0 || matches(s.Allow, tool)) && !matches(s.Deny, tool)
}

// Asks reports whether each call of a tool asks a human, by the operator's list.
func (s Spec) Asks(tool string) bool { return matches(s.Approve, tool) }

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return policy.Wild(p, name) })
}
