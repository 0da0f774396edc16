package cpythontest_test

import (
	"os/exec"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
)

func TestTheInterpreterOfTestsRunsPython(t *testing.T) {
	inst := cpythontest.Interpreter(t)
	out, err := exec.CommandContext(t.Context(), inst.Executable, "-I", "-c", "import json, asyncio, ssl, sqlite3; print(6*7)").CombinedOutput()
	if err != nil || string(out) != "42\n" {
		t.Fatalf("got %q, %v", out, err)
	}
}
