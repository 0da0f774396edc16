//go:build !linux || (!amd64 && !arm64)

package sidecar

import (
	"context"
	"log/slog"

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
func backends(resolver, *slog.Logger) (boxed, bare sandbox.Backend) { return nil, nil }

// ownPlaces are none where there is no sandbox.
func ownPlaces() []string { return nil }

// hasShell does not matter here: nothing runs.
func hasShell() bool { return false }
