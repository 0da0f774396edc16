package sidecar

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// mechanisms tells which granted permissions this version can carry out. A grant
// that nothing enforces for exactly its target would be theatre, so it is
// refused, and the answer says so. dataDir is shown to no program; tools tells that there are
// servers whose tools can be called.
func mechanisms(dataDir string, tools bool) authz.Mechanisms {
	if real, err := filepath.EvalSymlinks(dataDir); err == nil {
		dataDir = real // what is shown is named by where it really is
	}
	return func(g gear.Frozen, p policy.Permission) (bool, string) {
		if g.Isolation() == gear.None {
			return true, "" // the program has the server's own rights
		}
		byHuman := g.Decide(p).Layer == policy.ApprovalLayer
		switch p.Kind {
		case policy.Import, policy.Unsafe:
			return true, "" // an aid
		case policy.Run:
			if !byHuman || present(p.Target, dataDir) && slices.Contains(g.Programs(), p.Target) {
				return true, "" // carried out by what is mounted
			}
		case policy.Env:
			if !byHuman || p.Target != "*" {
				return true, "" // carried out by what the run starts with
			}
		case policy.Read:
			if shown(g, p.Target) && (!byHuman || showableFile(p.Target, dataDir)) {
				return true, ""
			}
		case policy.Tool:
			if tools {
				return true, "" // carried out by the gateway, call by call
			}
		case policy.Write, policy.Net, policy.Install:
		}
		return false, fmt.Sprintf("%s is allowed by a rule, but this version has no mechanism that grants exactly that inside the sandbox, so it is refused rather than ignored. %s",
			p, instead[p.Kind])
	}
}

// present reports whether the machine has a program that could be granted: nobody is
// asked for one that is not there. A path that leads elsewhere than it says is none.
func present(program, dataDir string) bool {
	if program == "*" {
		return true
	}
	candidates := []string{"/usr/bin/" + program, "/bin/" + program}
	if strings.Contains(program, "/") {
		candidates = []string{program}
	}
	return slices.ContainsFunc(candidates, func(path string) bool {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return false
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || within(real, dataDir) {
			return false
		}
		st, err := os.Stat(real)
		return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
	})
}

// showableFile reports whether a mount of the path would show exactly the file that a
// human was asked about: not what a link leads to, not all of a directory, nothing of
// the records, and nothing that the sandbox has of its own.
func showableFile(path, dataDir string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != path || !filepath.IsAbs(path) || within(path, dataDir) || policy.IsOwn(policy.Permission{Kind: policy.Read, Target: path}, nil) {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
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
	policy.Tool:    "No MCP servers are configured: the operator names them with --mcp-servers FILE.",
}
