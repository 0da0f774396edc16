//go:build linux && (amd64 || arm64)

package engine_test

import (
	"os"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux"
)

func TestMain(m *testing.M) {
	linux.MaybeInit()
	os.Exit(m.Run())
}

// boxed is a backend with walls, or nil where none can be built.
func boxed(t testing.TB, python cpython.Installation) sandbox.Backend {
	t.Helper()
	b := linux.New(linux.Config{Interpreters: resolve(python)})
	if report := b.Probe(t.Context()); report.Level == execution.LevelNone || report.Level == "" {
		t.Logf("without a sandbox, which cannot be built here: %+v", report.Checks)
		return nil
	}
	return b
}
