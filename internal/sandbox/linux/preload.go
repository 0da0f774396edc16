//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// stepPreload is the fork server's own step, after those of init.
const stepPreload = "preload"

// preloaded lists the modules that a template wants imported.
func preloaded(t sandbox.Template) []string {
	if t.Preload == "" {
		return []string{}
	}
	return strings.Split(t.Preload, ",")
}

// preloadFailure tells a module that cannot be imported from a sandbox that cannot be
// built. A fork server that an import ends says nothing more, and one that never comes
// to an end of it neither.
func preloadFailure(modules []string, err error) error {
	var step *StepError
	switch {
	case errors.As(err, &step) && step.Step == stepPreload:
		return &sandbox.PreloadError{Reason: step.Detail}
	case len(modules) > 0 && errors.Is(err, errNoReport) && !errors.Is(err, context.Canceled):
		return &sandbox.PreloadError{Reason: fmt.Sprintf("%s: the fork server ended, or took too long, while it imported them: %v", strings.Join(modules, ", "), err)}
	default:
		return err
	}
}
