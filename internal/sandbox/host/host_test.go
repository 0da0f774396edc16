//go:build unix

package host_test

import (
	"context"
	"os"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/host"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

func TestHostPassesTheSuite(t *testing.T) { testSuite(t, false) }

func TestHostPassesTheSuiteOverPlainPipes(t *testing.T) { testSuite(t, true) }

func testSuite(t *testing.T, pipes bool) {
	t.Parallel()
	dir := t.TempDir()
	python := sandboxtest.Interpreter(t)
	b := host.New(host.Config{Dir: dir, Pipes: pipes, Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) {
		return python, nil
	}})
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, error %v", left, err)
		}
	})
	sandboxtest.Run(t, sandboxtest.Config{
		Backend:  b,
		Template: sandbox.Template{Interpreter: python.Digest, Language: execution.Python},
	})
}
