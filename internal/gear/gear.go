// Package gear holds the named bundles of policy that an operator chooses from:
// their file format, inheritance, the four that are built in, the operator's
// overlays, and [Frozen], the basis on which one run is decided.
//
// It reads files and resolves names; how a rule matches and which rule wins is
// policy's. It never decides about a run by itself and starts nothing.
package gear

import (
	"maps"
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Default is the name of the gear that is used when an operator names none.
const Default = "user_confirmed"

// Isolation is whether a gear's runs are walled in.
type Isolation string

// The isolations.
const (
	// Sandbox runs behind the wall of a backend.
	Sandbox Isolation = "sandbox"
	// None runs with the server's own rights.
	None Isolation = "none"
)

// SourceLimits bound the source of one run. A zero field is no bound.
type SourceLimits struct{ Characters, Lines int }

// Gear is a named policy, with what it extends already resolved.
type Gear struct {
	Name        string
	Description string
	// Origin is the file that it was read from, or "built in".
	Origin string
	// Extends are the gears that it stands on, the nearest first.
	Extends   []string
	Execution bool
	Isolation Isolation
	Default   policy.Effect
	Rules     policy.RuleSet
	Source    SourceLimits
	// Limits holds what the gear sets; zero fields are left to the defaults.
	Limits    execution.Limits
	Languages []execution.Language
	Env       map[string]string
}

// blank is what a file starts from that extends nothing. It permits nothing.
func blank(name, origin string) Gear {
	return Gear{
		Name: name, Origin: origin, Execution: true, Isolation: Sandbox, Default: policy.Deny,
		Languages: []execution.Language{execution.Python, execution.Bash},
	}
}

func (g Gear) bundle() policy.Bundle {
	return policy.Bundle{Name: g.Name, Rules: g.Rules, Default: g.Default}
}

// clone shares nothing that could be changed with g.
func (g Gear) clone() Gear {
	g.Extends = slices.Clone(g.Extends)
	g.Rules = policy.RuleSet{
		Deny: slices.Clone(g.Rules.Deny), Ask: slices.Clone(g.Rules.Ask), Allow: slices.Clone(g.Rules.Allow),
	}
	g.Languages = slices.Clone(g.Languages)
	g.Env = maps.Clone(g.Env)
	return g
}
