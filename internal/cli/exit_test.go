package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestEveryStatusHasItsExitCode(t *testing.T) {
	want := map[execution.Status]int{
		execution.StatusOK: 0, execution.StatusError: 1, execution.StatusTimeout: 124, execution.StatusMemoryLimit: 122,
		execution.StatusOutputLimit: 122, execution.StatusProcessLimit: 122, execution.StatusDiskLimit: 122,
		execution.StatusDenied: 120, execution.StatusPendingApproval: 120, execution.StatusRejected: 121,
		execution.StatusCancelled: 130, execution.StatusInterrupted: 125, execution.StatusInternalError: 125,
		execution.StatusRunning: 125,
	}
	for _, s := range execution.Statuses() {
		code, known := want[s]
		if got := codeOf(execution.Result{Status: s, ExitCode: -1}); !known || got != code {
			t.Errorf("%s: %d, want %d", s, got, code)
		}
	}
}

func TestTheProgramsOwnExitCodeIsKept(t *testing.T) {
	for program, want := range map[int]int{1: 1, 3: 3, 119: 119, 137: 137, 255: 255, 256: 1, 0: 1, -1: 1} {
		if got := codeOf(execution.Result{Status: execution.StatusError, ExitCode: program}); got != want {
			t.Errorf("%d became %d, want %d", program, got, want)
		}
	}
}

func TestErrorsHaveTheirExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"none":      {nil, 0},
		"said":      {exit(7), 7},
		"usage":     {fmt.Errorf("x: %w", usage("", "wrong")), 121},
		"rejected":  {fmt.Errorf("x: %w", &execution.RejectedError{}), 121},
		"unmarked":  {errors.New("unknown command"), 121},
		"internal":  {failed(exitInternal, errors.New("boom")), 125},
		"cancelled": {failed(exitInternal, fmt.Errorf("x: %w", context.Canceled)), 130},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
