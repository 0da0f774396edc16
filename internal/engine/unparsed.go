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
	unjudged := policy.Permission{Kind: policy.Unsafe, Target: "unanalysable"}
	if op.gear.Decide(unjudged).Effect != policy.Allow {
		return facts
	}
	op.unparsed = facts.Failure
	return bridge.FactsHead{Facts: []bridge.Fact{{
		Kind: string(unjudged.Kind), Target: unjudged.Target, Via: "syntax", Line: max(facts.Failure.Line, 1), Column: max(facts.Failure.Column, 1),
	}}}
}
