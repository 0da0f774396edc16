//go:build linux && (amd64 || arm64)

package escape

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux"
)

// TestWeakestLevelIsAskedForOnAHostAndNamedInAContainer: nothing is weakened silently.
func TestWeakestLevelIsAskedForOnAHostAndNamedInAContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: forcing the level for an ordinary user takes root")
	}
	a := newAttacker(t, execution.LevelNoUserns, "unprivileged", build(t), unprivileged)
	a.requireSandbox(t)
	for name, c := range map[string]struct {
		variable string
		args     []string
		status   string
		says     []string
	}{
		"host":              {"A=1", nil, "rejected", []string{"below the minimum of no-proc", "max_user_namespaces", "--minimum-isolation no-userns"}},
		"host that asks":    {"A=1", []string{"--minimum-isolation", "no-userns"}, "ok", []string{"Isolation level no-userns:"}},
		"container":         {"container=docker", nil, "ok", []string{"Isolation level no-userns:"}},
		"strict, container": {"container=docker", []string{"--minimum-isolation", "full"}, "rejected", []string{"below the minimum of full"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "host" && linux.InContainer() {
				t.Skip("skipped: this machine is a container itself")
			}
			cmd := a.command(t, append([]string{"exec", "--json", "-c", "1 + 1"}, c.args...)...)
			cmd.Env = append(cmd.Env, c.variable)
			out, err := cmd.Output()
			var r answer
			if jsonErr := json.Unmarshal(out, &r); jsonErr != nil {
				t.Fatalf("exec: %v, %v\n%s", err, jsonErr, out)
			}
			if r.Status != c.status {
				t.Errorf("status %q: %s", r.Status, out)
			}
			for _, text := range c.says {
				if !strings.Contains(string(out), text) {
					t.Errorf("no %q in %s", text, out)
				}
			}
		})
	}
}
