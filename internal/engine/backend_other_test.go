//go:build unix && !(linux && (amd64 || arm64))

package engine_test

import (
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// boxed is nil: there is no backend with walls for this platform.
func boxed(testing.TB, cpython.Installation) sandbox.Backend { return nil }
