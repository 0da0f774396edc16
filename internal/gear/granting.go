package gear

import (
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Granting is the rule that an operator would add to have exactly this permission
// allowed, and what would decide with it. Whether it would then be allowed is for
// the caller to ask: what refuses may stand above the operator's rules. The rule
// is empty when none can say it. What would decide has no digest, since nothing is
// ever run under it.
func (f Frozen) Granting(p policy.Permission) (rule string, then Frozen) {
	if f.f == nil {
		return "", Frozen{}
	}
	r, err := parseRule(policy.Granting(p), "", true)
	if err != nil {
		return "", Frozen{}
	}
	more := *f.f
	more.operator = f.f.operator.With(Overlays{Allow: []policy.Rule{r}})
	more.digest, more.grants = execution.Digest{}, nil
	if names, all, _ := r.Names(); p.Kind == policy.Run && all {
		more.programs = []string{"*"}
	} else if p.Kind == policy.Run && !slices.Equal(more.programs, []string{"*"}) {
		more.programs = slices.Sorted(slices.Values(append(names, more.programs...)))
	}
	return r.String(), Frozen{&more}
}
