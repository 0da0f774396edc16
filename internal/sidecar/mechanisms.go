package sidecar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// mechanisms tells which granted permissions this version can carry out. A grant
// that nothing enforces for exactly its target would be theatre, so it is
// refused, and the answer says so.
func mechanisms(g gear.Frozen, p policy.Permission) (bool, string) {
	if g.Isolation() == gear.None {
		return true, "" // the program has the server's own rights
	}
	switch p.Kind {
	case policy.Import, policy.Unsafe, policy.Run, policy.Env:
		return true, "" // an aid, or carried out by what is mounted and what the run starts with
	case policy.Read:
		if shown(g, p.Target) {
			return true, ""
		}
	case policy.Write, policy.Net, policy.Install, policy.Tool:
	}
	return false, fmt.Sprintf("%s is allowed by a rule, but this version has no mechanism that grants exactly that inside the sandbox, so it is refused rather than ignored. %s",
		p, instead[p.Kind])
}

// shown reports whether what the sandbox holds from the start covers a path.
func shown(g gear.Frozen, path string) bool {
	return slices.ContainsFunc(g.Granted(policy.Read), func(entry string) bool {
		dir, whole := strings.CutSuffix(entry, "/**")
		return path == dir || whole && strings.HasPrefix(path, dir+"/")
	})
}

// instead tells a model what works today.
var instead = map[policy.Kind]string{
	policy.Read:    "Allow the very path, or a whole directory as DIR/**, or pass the file's contents in the argument files.",
	policy.Write:   "Write below /workspace, which is private to the run, and print what is needed.",
	policy.Net:     "Fetch the data outside and pass it in the argument files or variables.",
	policy.Install: "Use the standard library, or ask the operator to start the server with --python and an environment that has the package.",
	policy.Tool:    "Call the tool outside and pass its result in the argument variables.",
}
