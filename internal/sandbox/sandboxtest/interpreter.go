package sandboxtest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// PythonVariable names the interpreter that tests run, instead of a usual one.
const PythonVariable = "GEARBOX_TEST_PYTHON"

// usualPythons are tried in order. A python3 on PATH is no candidate: version
// managers put scripts there.
var usualPythons = []string{"/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"}

// Interpreter finds a Python of version 3.10 or later on this machine, or skips
// the test.
func Interpreter(t testing.TB) sandbox.Interpreter {
	t.Helper()
	candidates := usualPythons
	if p := os.Getenv(PythonVariable); p != "" {
		candidates = []string{p}
	}
	for _, p := range candidates {
		const recent = "import sys; sys.exit(sys.version_info < (3, 10))"
		if exec.CommandContext(t.Context(), p, "-I", "-c", recent).Run() == nil {
			return sandbox.Interpreter{Digest: execution.DigestOf([]byte(p)), Executable: p}
		}
	}
	t.Skipf("no Python of version 3.10 or later among %v: set %s", candidates, PythonVariable)
	return sandbox.Interpreter{}
}
