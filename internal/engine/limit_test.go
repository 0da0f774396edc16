//go:build unix

package engine_test

import (
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestAnExceptionThatALimitCausesSaysWhichLimit(t *testing.T) {
	b := newBench(t, benchConfig{})
	for name, c := range map[string]struct {
		code    string
		status  execution.Status
		message string
	}{
		"memory":              {"raise MemoryError", execution.StatusMemoryLimit, "a run may use 512 MiB of memory"},
		"mapping":             {"raise OSError(12, 'Cannot allocate memory')", execution.StatusMemoryLimit, "[Errno 12] Cannot allocate memory: a run may use 512 MiB of memory"},
		"disk":                {"raise OSError(28, 'No space left on device')", execution.StatusDiskLimit, "[Errno 28] No space left on device: a run may write 64 MiB in 4096 files"},
		"threads":             {`raise RuntimeError("can't start new thread")`, execution.StatusProcessLimit, "can't start new thread: a run may have 64 processes and threads"},
		"processes":           {"def fork(): raise BlockingIOError(11, 'x')\nfork()", execution.StatusProcessLimit, "[Errno 11] x: a run may have 64 processes and threads"},
		"a descriptor not so": {"def read(): raise BlockingIOError(11, 'x')\nread()", execution.StatusError, "[Errno 11] x"},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.run(execution.Request{Code: c.code})
			if r.Status != c.status || r.ExitCode != 1 || r.Error == nil || r.Error.Message != c.message {
				t.Fatalf("status %s, exit %d, error %+v", r.Status, r.ExitCode, r.Error)
			}
		})
	}
}
