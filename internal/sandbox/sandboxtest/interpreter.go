package sandboxtest

import (
	"os"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// PythonVariable names the interpreter that the suite runs, instead of the
// embedded one.
const PythonVariable = "GEARBOX_TEST_PYTHON"

// Interpreter is what a backend is given in tests.
func Interpreter(tb testing.TB) sandbox.Interpreter {
	tb.Helper()
	var inst cpython.Installation
	if path := os.Getenv(PythonVariable); path != "" {
		var err error
		if inst, err = cpython.FromPath(tb.Context(), path); err != nil {
			tb.Fatalf("%s: %v", PythonVariable, err)
		}
	} else {
		inst = cpythontest.Interpreter(tb)
	}
	tb.Cleanup(inst.Release)
	return sandbox.Interpreter{
		Digest: inst.Digest, Version: inst.Version, Embedded: inst.Embedded,
		Executable: inst.Executable, Root: inst.Root, Mounts: inst.Mounts, Path: inst.Path,
	}
}
