//go:build linux && (amd64 || arm64)

package linux

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

func TestLinuxPassesTheSuite(t *testing.T) {
	sandboxtest.Run(t, sandboxtest.Config{Backend: backend(t, nil), Template: template(sandbox.Shape{}), NarrowsProcesses: true})
}

// ordinaryUser is somebody without an entry in passwd and without any right.
const ordinaryUser = 4243

// TestEverythingHoldsForAnOrdinaryUser runs every other test of this package again
// without privileges.
func TestEverythingHoldsForAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: the tests run without privileges as it is")
	}
	in, err := json.Marshal(publicCopy(t, interpreter(t)))
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"-test.v", "-test.timeout=5m"}
	if testing.Short() {
		flags = append(flags, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", flags...)
	cmd.Env = []string{interpreterVariable + "=" + string(in), "PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", ordinaryUser, err, out)
	}
	t.Logf("as user %d: %d tests passed, %d were skipped", ordinaryUser, strings.Count(string(out), "--- PASS"), strings.Count(string(out), "--- SKIP"))
}

// publicCopy copies the interpreter to where everybody can read it: the cache of
// the tests is their user's own.
func publicCopy(t *testing.T, in sandbox.Interpreter) sandbox.Interpreter {
	t.Helper()
	dir, err := os.MkdirTemp("", "gearbox-public-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(in.Root, in.Executable)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "python")
	if err := os.CopyFS(root, os.DirFS(in.Root)); err != nil {
		t.Fatal(err)
	}
	in.Root, in.Executable, in.Digest = root, filepath.Join(root, rel), execution.DigestOf([]byte(root))
	return in
}
