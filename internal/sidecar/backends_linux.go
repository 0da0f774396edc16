//go:build amd64 || arm64

package sidecar

import (
	"context"
	"log/slog"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/host"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
)

type resolver = func(context.Context, execution.Digest) (sandbox.Interpreter, error)

// Reexec takes over when this process was started as a part of a sandbox, and
// then never returns. It is the first thing that main does.
func Reexec() { linux.MaybeInit() }

// inContainer reports whether there is an outer wall around this process.
func inContainer() bool { return linux.InContainer() }

// levelWarning is what every answer from behind a weaker wall says.
func levelWarning(l execution.Level) string { return linux.Warning(l) }

// backends are those of this platform: the one that isolates and the one that
// does not.
func backends(r resolver, l *slog.Logger) (boxed, bare sandbox.Backend) {
	groups, err := cgroup.Find()
	if err != nil {
		l.Info("memory and processes are bounded without control groups, less exactly", "reason", err)
	}
	return linux.New(linux.Config{Interpreters: r, Groups: groups, Logger: l}), host.New(host.Config{Interpreters: r})
}

// ownPlaces are those that every sandbox has of its own, whatever the host has there.
func ownPlaces() []string { return linux.OwnPlaces() }

// hasShell reports whether programs in bash can be run: both backends look for it in
// the same places.
func hasShell() bool { return linux.HasShell() }
