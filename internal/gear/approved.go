package gear

import (
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Approved is the basis of one run to whose permissions, exactly these, a human said yes:
// what the rules ask about among them is allowed, and what they deny stays denied. It is
// what the run's sandbox is prepared for; whether somebody has said yes is for the door to
// find out.
func (f Frozen) Approved(permissions []policy.Permission) Frozen {
	if f.f == nil || len(permissions) == 0 {
		return f
	}
	more := *f.f
	more.approved = slices.Clone(permissions)
	for i := range more.approved {
		p := &more.approved[i]
		*p = policy.Permission{Kind: p.Kind, Target: p.Target} // wherever it stands in the source
	}
	slices.SortFunc(more.approved, func(a, b policy.Permission) int { return strings.Compare(a.String(), b.String()) })
	more.approved = slices.Compact(more.approved)
	more.programs = more.grantedPrograms()
	more.grants = more.allGrants()
	parts := [][]byte{[]byte("approved"), more.digest[:]}
	for _, p := range more.approved {
		parts = append(parts, []byte(p.String()))
	}
	more.digest = execution.DigestOf(parts...)
	return Frozen{&more}
}

// mountable reports whether an approved target can be named to a sandbox. In the lists of
// what it shows, a comma or a line feed divides, and DIR/** is a whole directory: a name
// that looks like these would show something else than a human was asked about.
func mountable(p policy.Permission) bool {
	switch p.Kind {
	case policy.Run:
		return !strings.ContainsAny(p.Target, ",\n")
	case policy.Read:
		return strings.HasPrefix(p.Target, "/") && !strings.HasSuffix(p.Target, tree) && !strings.ContainsRune(p.Target, '\n')
	default:
		return true
	}
}

func (f *frozen) hasApproved(p policy.Permission) bool {
	return slices.Contains(f.approved, policy.Permission{Kind: p.Kind, Target: p.Target})
}
