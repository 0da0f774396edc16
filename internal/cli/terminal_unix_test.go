//go:build unix

package cli

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/approval"
)

// typed is a terminal, as far as its words go, on which somebody types text and then ends
// the input.
func typed(t *testing.T, text string) *terminal {
	t.Helper()
	both, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(both[0]), "ours"), os.NewFile(uintptr(both[1]), "theirs")
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	if _, err := ours.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Shutdown(both[0], syscall.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	return &terminal{theirs}
}

func TestAMessageThatIsTooLongIsAskedForAgain(t *testing.T) {
	long := strings.Repeat("x", approval.MaxMessage+1)
	if got, err := typed(t, long+"\n"+long[1:]+"\n").message(t.Context()); got != long[1:] || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestAMessageThatIsNotTypedIsNoAnswer(t *testing.T) {
	for _, text := range []string{"", "half a line", strings.Repeat("x", approval.MaxMessage+1) + "\n"} {
		if got, err := typed(t, text).message(t.Context()); got != "" || !errors.Is(err, errSkipped) {
			t.Errorf("%q, %v", got, err)
		}
	}
}
