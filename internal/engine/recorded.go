package engine

import (
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Interrupted is how an operation ends whose server died before it did: what is written
// into its record, and the event for it. What the program printed died with the server.
func Interrupted(r execution.Record, now time.Time) (execution.Change, audit.Event) {
	reason := "The server that took this on ended before the program started. Nothing was run; the call may be repeated."
	if r.State == execution.StateRunning {
		reason = "The server ended while the program ran, and the program with it. What it had done outside the sandbox, if anything, stands."
	}
	return Closed(r, execution.StatusInterrupted, execution.CodeInterrupted, reason, now)
}

// Answer is what a caller is told of a finished operation.
func Answer(r execution.Record) execution.Result { return answer(r.Result, r.Stdout, r.Stderr) }
