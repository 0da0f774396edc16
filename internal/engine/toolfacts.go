package engine

import (
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Bindings tell what a program means by the names in it. It is safe for concurrent use
// and waits for nothing.
type Bindings interface {
	// Meant is the permission that a call by the module and function of a program needs:
	// tool(server.tool), with the name as the server spells it. It is false when no such
	// tool is known now; then the call itself tells.
	Meant(target string) (policy.Permission, bool)
}

// toolsMeant replaces the names that the program has for tools by the tools'. What a human
// is asked about is asked when the program calls, with the arguments in view, unless the
// operator has a yes to a script be one to the calls that stand in it.
func (e *Engine) toolsMeant(op *operation, perms []policy.Permission) []policy.Permission {
	out := perms[:0:0]
	for _, p := range perms {
		if p.Kind != policy.Tool {
			out = append(out, p)
			continue
		}
		if e.c.Bindings == nil {
			continue
		}
		meant, known := e.c.Bindings.Meant(p.Target)
		if !known {
			continue
		}
		p.Target, p.ReadOnly = meant.Target, meant.ReadOnly
		asks := op.gear.Decide(p).Effect == policy.Ask
		if !asks || e.c.ApproveScripts {
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}
