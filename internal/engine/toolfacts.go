package engine

import (
	"context"
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Bindings tell what a program means by the names in it. It is safe for concurrent use.
type Bindings interface {
	// Await waits for the servers of calls by the modules and functions of a program, each
	// for as long as it may take to start. Those that do not come are not known then.
	Await(ctx context.Context, targets []string)
	// Meant is the permission that a call by the module and function of a program needs:
	// tool(server.tool), with the name as the server spells it. It waits for nothing, and is
	// false when no such tool is known now; then the call itself tells.
	Meant(target string) (policy.Permission, bool)
}

// toolsMeant replaces the names that the program has for tools by the tools'. What a human
// is asked about is asked when the program calls, with the arguments in view, unless the
// operator has a yes to a script be one to the calls that stand in it.
func (e *Engine) toolsMeant(op *operation, perms []policy.Permission) []policy.Permission {
	if !slices.ContainsFunc(perms, func(p policy.Permission) bool { return p.Kind == policy.Tool }) {
		return perms // as of nearly every program
	}
	e.awaitTools(op, perms)
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

// awaitTools waits until it is known which tools a program means, where a human is asked
// about them together with the program.
func (e *Engine) awaitTools(op *operation, perms []policy.Permission) {
	if e.c.Bindings == nil || !e.c.ApproveScripts {
		return
	}
	var targets []string
	for _, p := range perms {
		if p.Kind == policy.Tool {
			targets = append(targets, p.Target)
		}
	}
	e.c.Bindings.Await(op.ctx, targets)
}
