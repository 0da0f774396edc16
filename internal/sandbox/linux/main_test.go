//go:build linux && (amd64 || arm64)

package linux

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	MaybeInit()
	os.Exit(m.Run())
}
