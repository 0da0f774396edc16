package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// verdict is what a limit or a kill makes of a run.
type verdict struct {
	status execution.Status
	code   execution.Code
	reason string
}

// outcome judges a run that has ended. What the host did and what the kernel saw
// come first; what the program says of itself counts only when neither has
// anything to say.
func (op *operation) outcome(ended sandbox.Ended, head *bridge.ResultHead) execution.Result {
	r := op.base(execution.StatusOK)
	r.DurationMS = milliseconds(op.usage.Wall)
	r.CPUMS = milliseconds(op.usage.CPU)
	r.MemoryPeak = op.usage.MemoryPeak
	if ended.ScratchFull {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the scratch space of %v or its %d files were used up", op.limits.Scratch, op.limits.ScratchFiles))
	}
	if ended.ProcessesFull {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the limit of %d processes and threads was met", op.limits.Processes))
	}
	if v, ok := op.killed(ended.Cause); ok {
		return end(r, v, -1)
	}
	if head == nil {
		return op.endedAlone(r, ended)
	}
	r.Value, r.ValueType = head.Value, head.ValueType
	r.Warnings = append(r.Warnings, head.Warnings...)
	r.Denied = deniedClaims(head.Denied)
	if head.Exception != nil {
		return op.raised(r, ended, head)
	}
	r.ExitCode = head.ExitCode & 0xff
	if r.ExitCode != 0 {
		r.Status = execution.StatusError
		r.Error = exitError(codePythonExit, r.ExitCode)
	}
	return r
}

// killed tells what it means that the host ended the run, if it did.
func (op *operation) killed(c sandbox.Cause) (verdict, bool) {
	switch c {
	case sandbox.CauseTimeout:
		return verdict{execution.StatusTimeout, execution.CodeTimeout, "Execution timed out after " + seconds(op.limits.Timeout) + "."}, true
	case sandbox.CauseMemory:
		return verdict{execution.StatusMemoryLimit, execution.CodeMemoryLimit, fmt.Sprintf("Execution used more than %v of memory.", op.limits.Memory)}, true
	case sandbox.CauseScratch:
		return verdict{execution.StatusDiskLimit, execution.CodeDiskLimit, fmt.Sprintf("Execution wrote more than %v or %d files.", op.limits.Scratch, op.limits.ScratchFiles)}, true
	case sandbox.CauseOutput:
		return verdict{execution.StatusOutputLimit, execution.CodeOutputLimit, fmt.Sprintf("Execution printed more than %v.", op.limits.OutputProduced)}, true
	case sandbox.CauseCancelled:
		return verdict{execution.StatusCancelled, execution.CodeCancelled, "Execution was cancelled."}, true
	case sandbox.CauseShutdown:
		reason := "The sandbox ended before the program did."
		if context.Cause(op.ctx) == errShutdown { //nolint:errorlint // as in givenUp
			reason = "The server was stopped before the program ended."
		}
		return verdict{execution.StatusInterrupted, execution.CodeInterrupted, reason}, true
	case sandbox.CauseProtocol:
		return verdict{execution.StatusError, "PROTOCOL", "The program wrote to the sandbox's own channel and was ended."}, true
	case sandbox.CauseUnsealed, sandbox.CauseAbandoned:
		return verdict{execution.StatusInternalError, execution.CodeInternal, "The sandbox failed and was ended."}, true
	case sandbox.CauseNone, sandbox.CauseFinished:
		return verdict{}, false
	}
	return verdict{execution.StatusInternalError, execution.CodeInternal, "The sandbox was ended for an unknown reason."}, true
}

func end(r execution.Result, v verdict, exit int) execution.Result {
	r.Status, r.ExitCode, r.Stderr = v.status, exit, v.reason
	r.Error = &execution.Error{Code: string(v.code), Message: v.reason}
	return r
}

// endedAlone judges a program whose process ended without a result: one in bash, or
// one in Python by os._exit or by a signal.
func (op *operation) endedAlone(r execution.Result, ended sandbox.Ended) execution.Result {
	switch {
	case ended.Signal == sigXCPU:
		return end(r, verdict{execution.StatusTimeout, execution.CodeTimeout, "Execution used up its CPU time."}, 128+ended.Signal)
	case ended.Signal != 0:
		r.Signal = signalName(ended.Signal)
		return end(r, verdict{execution.StatusError, execution.Code(r.Signal), "The program was ended by the signal " + r.Signal + "."}, 128+ended.Signal)
	case ended.ExitCode != 0:
		return op.exited(r, ended)
	}
	r.ExitCode = 0
	return r
}

// raised judges an uncaught exception. One that a limit causes is that limit's.
func (op *operation) raised(r execution.Result, ended sandbox.Ended, head *bridge.ResultHead) execution.Result {
	ex := head.Exception
	r.Status, r.ExitCode = execution.StatusError, max(head.ExitCode&0xff, 1)
	r.Error = &execution.Error{Code: ex.Class, Message: ex.Message, Traceback: ex.Traceback, Line: max(0, ex.Line), Hint: hintClaim(ex.Hint)}
	if v, ok := op.limitMet(ended, ex); ok {
		r.Status, r.Error.Code = v.status, string(v.code)
		r.Error.Message = strings.TrimPrefix(ex.Message+": "+v.reason, ": ")
	}
	return r
}

// doesNotParse is the answer to source with a syntax error. CPython exits with 1
// after one, bash with 2.
func (op *operation) doesNotParse(ex *bridge.Exception) execution.Result {
	r := op.base(execution.StatusError)
	r.ExitCode, r.Stderr = 1, ex.Text
	if op.request.Language == execution.Bash {
		r.ExitCode = shellMisuse
	}
	r.Error = &execution.Error{Code: ex.Class, Message: ex.Message, Traceback: ex.Traceback, Line: max(0, ex.Line), Hint: hintClaim(ex.Hint)}
	return r
}

// cancelled is the answer when the operation was given up before it ran.
func (op *operation) cancelled(cause error) execution.Result {
	v, _ := op.killed(givenUp(cause))
	return end(op.base(v.status), v, -1)
}

// givenUp is why a sandbox is ended whose operation's context ended with this cause.
func givenUp(cause error) sandbox.Cause {
	if cause == errShutdown { //nolint:errorlint // the cause is compared, not unwrapped: only Close sets it
		return sandbox.CauseShutdown
	}
	return sandbox.CauseCancelled
}

// interrupted is the answer when the warm process behind the sandbox ended, and the
// program with it. What it printed until then is kept.
func (op *operation) interrupted() execution.Result {
	reason := "The sandbox was ended from outside before the program started. Nothing was run; the call may be repeated."
	if op.state == execution.StateRunning {
		reason = "The sandbox was ended from outside while the program ran. Nothing of it goes on; what it had done outside the sandbox, if anything, stands."
	}
	return end(op.base(execution.StatusInterrupted), verdict{execution.StatusInterrupted, execution.CodeInterrupted, reason}, -1)
}

// failed is the answer when we failed. The reason is in the log, not here: it
// may hold what the caller must not see.
func (op *operation) failed() execution.Result {
	v := verdict{execution.StatusInternalError, execution.CodeInternal, "Gearbox failed to run this; its log has the reason under this operation id."}
	return end(op.base(v.status), v, -1)
}

// unasked is the answer when a human could not be asked. What was decided is still to be
// recorded, and that the question was put is not.
func (op *operation) unasked(err error) execution.Result {
	op.decided = slices.DeleteFunc(op.decided, func(e audit.Event) bool { return e.Type == audit.Approval })
	if errors.Is(err, ErrManyPending) {
		return op.denied(&execution.Error{Code: string(execution.CodeUnavailable), Message: "This needs a human's yes, and as many of your executions wait for one already as approvals.max_pending of the server allows. " +
			"Nothing was run. Cancel some of those, or call again when some are decided."})
	}
	reason := "This needs a human's yes, and the question could not be recorded. So it was not put, and nothing was run: " + because(err) + "."
	v := verdict{execution.StatusInternalError, execution.CodeInternal, reason}
	return end(op.base(v.status), v, -1)
}

// unrecorded is the answer while the end cannot be recorded.
func unrecorded(op *operation) execution.Result {
	r := op.base(execution.StatusRunning)
	r.Warnings = append(r.Warnings, "This has ended, and how could not be recorded yet, so it is not told. It will be once it can be: ask with get_operation.")
	return r
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

func seconds(d time.Duration) string {
	s := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	if s == "1" {
		return "1 second"
	}
	return s + " seconds"
}
