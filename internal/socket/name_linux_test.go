package socket

import (
	"strings"
	"testing"
)

func TestANameThatNoAddressHoldsIsRefusedWithTheLength(t *testing.T) {
	_, err := Listen(t.Context(), t.TempDir(), strings.Repeat("s", 120))
	if err == nil || !strings.Contains(err.Error(), "108 bytes") || strings.Contains(err.Error(), "/proc/") {
		t.Error(err)
	}
}
