//go:build linux && (amd64 || arm64)

package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// TestAttacksAreRefusedBeforeTheyRun is the other half: with the policy on, the
// same attacks are recognised for what they reach for, and nothing of them runs.
func TestAttacksAreRefusedBeforeTheyRun(t *testing.T) {
	a := newAttacker(t, execution.LevelFull, "policy", build(t), uint32(os.Geteuid()))
	a.requireSandbox(t)
	files, err := filepath.Glob("attacks/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no attacks: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".py"), func(t *testing.T) {
			r := a.run(t, "restricted", f)
			if r.Status != string(execution.StatusDenied) || r.Stdout != "" || !strings.Contains(r.Stderr, "import(ctypes)") {
				t.Errorf("status %s\n%s%s", r.Status, r.Stdout, r.Stderr)
			}
		})
	}
}
