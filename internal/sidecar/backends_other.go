//go:build !linux || (!amd64 && !arm64)

package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

type resolver = func(context.Context, execution.Digest) (sandbox.Interpreter, error)

// Reexec does nothing here: no backend of this platform starts this binary again.
func Reexec() {}

// inContainer is no question where there is no sandbox.
func inContainer() bool { return false }

// levelWarning has nothing to say: no level is reached here.
func levelWarning(execution.Level) string { return "" }

// backends are those of this platform: none.
func backends(name string, _ resolver, _ *slog.Logger) (boxed, bare sandbox.Backend, err error) {
	if name != "" {
		return nil, nil, fmt.Errorf("there is no backend %q on %s", name, runtime.GOOS)
	}
	return nil, nil, nil
}

// ownPlaces are none where there is no sandbox.
func ownPlaces() []string { return nil }

// hasShell does not matter here: nothing runs.
func hasShell() bool { return false }
