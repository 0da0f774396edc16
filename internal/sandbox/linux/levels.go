//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// open starts a fork server at the strongest level that this machine gives. It goes
// down a level only for a refusal that stands for the whole machine, so that a
// passing failure never weakens the wall.
func (b *Backend) open(ctx context.Context, in sandbox.Interpreter, t sandbox.Template) (*source, error) {
	t.Shape = withDefaults(t.Shape)
	level := execution.LevelFull
	var failures error
	for {
		s, err := b.openAt(ctx, level, in, t)
		if err == nil {
			return s, nil
		}
		if failures == nil {
			failures = err
		} else {
			failures = fmt.Errorf("%w; at level %s: %w", failures, level, err)
		}
		next, ok := weaker(level, err)
		if !ok {
			return nil, failures
		}
		b.config.Logger.Warn("this machine does not give an isolation level; trying a weaker one", "level", level, "next", next, "error", err)
		level = next
	}
}

func (b *Backend) openAt(ctx context.Context, level execution.Level, in sandbox.Interpreter, t sandbox.Template) (*source, error) {
	if level == execution.LevelNoUserns {
		return b.openBare(ctx, in, t)
	}
	p, err := newPlan(in, t.Shape, b.config.Guest)
	if err != nil {
		return nil, fmt.Errorf("plan the sandbox: %w", err)
	}
	server := newServerConfig(level, in, t)
	server.Processes = processesCeiling(t.Shape, b.config.Groups)
	s, err := launch(ctx, launchConfig{
		init: initConfig{
			Level: level,
			Plan:  p,
			Argv:  interpreterCommand(p.Executable, guestRoot),
			Env:   environment(t.Shape),
		},
		server:     server,
		attributes: b.identity.attributes(),
		logger:     b.config.Logger,
	})
	if err != nil {
		return nil, err
	}
	return newSource(b, s, level, t.Shape, server.sealed(), nil)
}

// weaker is the level to try when level failed with err. Without a mounted proc
// everything else stands; without the namespaces or the mounts nothing of them does.
func weaker(level execution.Level, err error) (execution.Level, bool) {
	var step *StepError
	if !errors.As(err, &step) || level == execution.LevelNoUserns {
		return "", false
	}
	switch {
	case step.Step == stepProc && isRefusal(step.Errno):
		return execution.LevelNoProc, level == execution.LevelFull
	case step.Step == stepNamespaces && (isRefusal(step.Errno) || isAbsence(step.Errno)):
		return execution.LevelNoUserns, true
	case (step.Step == stepRoot || step.Step == stepPivot || step.Step == stepCapabilities) && isRefusal(step.Errno):
		return execution.LevelNoUserns, true
	case step.Step == stepMounts && step.Errno == unix.EPERM:
		// Not EACCES, which an interpreter gives that the sandbox may not reach.
		return execution.LevelNoUserns, true
	default:
		return "", false
	}
}

// isRefusal: seccomp, AppArmor and the kernel refuse with one of these.
func isRefusal(errno syscall.Errno) bool { return errno == unix.EPERM || errno == unix.EACCES }

// isAbsence: user namespaces are used up or switched off (ENOSPC, EUSERS), or the
// kernel was built without them (EINVAL, ENOSYS).
func isAbsence(errno syscall.Errno) bool {
	return errno == unix.ENOSPC || errno == unix.EUSERS || errno == unix.EINVAL || errno == unix.ENOSYS
}

// Warning says in one sentence what a level below full means, for every answer.
func Warning(level execution.Level) string {
	switch level {
	case execution.LevelNoProc:
		return "Isolation level no-proc: this machine refuses a /proc to the sandbox, so that programs find none; " +
			"the walls are those of level full but for the quotas of the user namespace. `gearbox doctor` says how to mend it."
	case execution.LevelNoUserns:
		return "Isolation level no-userns: this machine refuses user namespaces, so that Landlock, seccomp and limits alone hold the program; " +
			"names and sizes of files outside can be seen, disk space is bounded by a watcher, and the working directory is a private one instead of /workspace. " +
			"`gearbox doctor` says how to mend it."
	default:
		return ""
	}
}
