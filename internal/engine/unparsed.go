package engine

import (
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// leaveToBash takes a syntax error in bash for source that nobody can judge, where
// the gear lets such source run. The host's parser is stricter than bash in places,
// and only bash knows what bash accepts; the wall holds whatever that turns out to be.
func (op *operation) leaveToBash(facts bridge.FactsHead) bridge.FactsHead {
	if facts.Failure == nil || op.request.Language != execution.Bash {
		return facts
	}
	if op.gear.Decide(policy.Permission{Kind: policy.Unsafe, Target: unanalysable}).Effect != policy.Allow {
		return facts
	}
	op.unparsed = facts.Failure
	return unjudged("syntax", facts.Failure.Line, facts.Failure.Column)
}

// unanalysable is the target of the permission that source needs of which nobody can
// say what it would do.
const unanalysable = "unanalysable"

// unjudged are the facts of such source.
func unjudged(via string, line, column int) bridge.FactsHead {
	return bridge.FactsHead{Facts: []bridge.Fact{{
		Kind: string(policy.Unsafe), Target: unanalysable, Via: via, Line: max(line, 1), Column: max(column, 1),
	}}}
}
