//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// hostPython is an interpreter that a Debian machine has.
func hostPython(context.Context, execution.Digest) (sandbox.Interpreter, error) {
	return sandbox.Interpreter{Executable: "/usr/bin/python3.11", Mounts: []string{"/usr/lib/python3.11"}}, nil
}

func openSource(t *testing.T, shape sandbox.Shape) sandbox.Source {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3.11"); err != nil {
		t.Skip("no interpreter: /usr/bin/python3.11 is not installed")
	}
	src, err := New(Config{Interpreters: hostPython}).Open(t.Context(), sandbox.Template{Language: execution.Python, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

func TestChildPrints(t *testing.T) {
	c, err := openSource(t, sandbox.Shape{}).Start(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Arm(t.Context(), sandbox.Arm{Limits: execution.DefaultLimits()}); err != nil {
		t.Fatal(err)
	}
	result, err := converse(c.Bridge(), "print('hello', __import__('os').getpid())")
	if err != nil {
		t.Fatal(err)
	}
	c.Kill(sandbox.CauseFinished)
	out, err := io.ReadAll(c.Stdout())
	if err != nil || string(out) != "hello 2\n" || result.Outcome != bridge.OutcomeOK {
		t.Errorf("printed %q and ended as %q (%v)", out, result.Outcome, err)
	}
	ended, err := c.Wait(t.Context())
	if err != nil || ended.Cause != sandbox.CauseFinished {
		t.Errorf("ended as %+v (%v)", ended, err)
	}
}
