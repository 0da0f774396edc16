package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// The exit codes that are not the program's own. They lie above what programs
// use and below 128, where shells report signals.
const (
	exitFailed    = 1
	exitDenied    = 120
	exitUsage     = 121
	exitLimit     = 122
	exitTimeout   = 124 // as timeout(1) has it
	exitInternal  = 125
	exitCancelled = 130 // as shells report SIGINT
)

// exitCodes is the table for the help text.
const exitCodes = `Exit codes of exec:
  0-119  the program's own
  120    denied by the gear: nothing was run
  121    wrong usage, malformed call, or no sandbox available
  122    stopped by a limit of memory, output, processes or disk
  124    stopped by its timeout
  125    Gearbox itself failed
  130    cancelled
  128+n  the program was ended by signal n
The other commands exit with 0 if all is well, 1 if not, 121 on wrong usage.`

// exit carries a code when everything was already said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// hinted is an error with a way to mend it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Hint() string { return h.hint }

func (h *hinted) Unwrap() error { return h.error }

// usageError says that the command line is at fault.
type usageError struct{ hinted }

func usage(hint, format string, args ...any) error {
	return &usageError{hinted{fmt.Errorf(format, args...), hint}}
}

// failure is an error of a command that was understood, with its exit code.
type failure struct {
	error
	code int
}

func (f *failure) Unwrap() error { return f.error }

// failed marks an error that is not the fault of the command line.
func failed(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{err, code}
}

// exitCode is the code of the process for what a command returned. Errors that
// carry no mark come from cobra, about commands and flags that do not exist.
func exitCode(err error) int {
	var e exit
	var u *usageError
	var r *execution.RejectedError
	var f *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return int(e)
	case errors.As(err, &u), errors.As(err, &r):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitCancelled
	case errors.As(err, &f):
		return f.code
	}
	return exitUsage
}

// codeOf is the code of the process for how a run ended.
func codeOf(r execution.Result) int {
	switch r.Status {
	case execution.StatusOK:
		return 0
	case execution.StatusError:
		if r.ExitCode > 0 && r.ExitCode < 256 {
			return r.ExitCode
		}
		return exitFailed
	case execution.StatusDenied, execution.StatusPendingApproval:
		return exitDenied
	case execution.StatusRejected:
		return exitUsage
	case execution.StatusMemoryLimit, execution.StatusOutputLimit, execution.StatusProcessLimit, execution.StatusDiskLimit:
		return exitLimit
	case execution.StatusTimeout:
		return exitTimeout
	case execution.StatusCancelled:
		return exitCancelled
	case execution.StatusInterrupted, execution.StatusInternalError, execution.StatusRunning:
	}
	return exitInternal
}
