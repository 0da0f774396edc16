package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/capture"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The bounds on what an answer tells of tool calls: how many, and how much of each text,
// in bytes. The record of a call is not here but with who makes it.
const (
	maxTold = 100
	maxText = 500
)

// The statuses of a call in an answer.
const (
	callOK        = "ok"
	callFailed    = "error"
	callCancelled = "cancelled" // the run ended before it was answered
)

// callStatuses are the other statuses, by the class of the error that a program sees.
var callStatuses = map[string]string{
	"ToolNotFound": "not_found", "InvalidArguments": "invalid_arguments", "ToolTimeout": "timeout",
	"ServerUnavailable": "unavailable", "ApprovalDenied": "denied", "PolicyDenied": "denied", callLimit: "limit",
}

// ledger is the list of a run's calls of tools, in the order in which they began.
type ledger struct {
	list   []execution.ToolCall
	untold int
}

// open enters a call that begins, and gives the number of the entry; 0 is none.
func (l *ledger) open(head bridge.CallHead) int {
	if len(l.list) >= maxTold {
		l.untold++
		return 0
	}
	name := head.Server + "." + cmp.Or(head.Tool, head.URI)
	l.list = append(l.list, execution.ToolCall{Tool: beginning(name), Status: callCancelled})
	return len(l.list)
}

// close enters how a call went.
func (l *ledger) close(entry int, took time.Duration, failure *bridge.CallError) {
	if entry == 0 {
		return
	}
	e := &l.list[entry-1]
	e.DurationMS, e.Status = milliseconds(took), callOK
	if failure != nil {
		e.Status, e.Error = cmp.Or(callStatuses[failure.Class], callFailed), beginning(failure.Message)
	}
}

// giveUp enters how long a call lasted that was given up, and stays cancelled.
func (l *ledger) giveUp(entry int, took time.Duration) {
	if entry > 0 {
		l.list[entry-1].DurationMS = milliseconds(took)
	}
}

// tell puts the calls into an answer.
func (l *ledger) tell(r *execution.Result) {
	r.ToolCalls = l.list
	if l.untold > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d more tool calls are not listed", l.untold))
	}
}

func beginning(text string) string {
	if len(text) <= maxText {
		return text
	}
	return string(capture.TrimTail([]byte(text[:maxText]))) + "…"
}
