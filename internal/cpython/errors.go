package cpython

import (
	"errors"
	"fmt"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// ErrNotUnpacked says that the data directory holds no interpreter of this version yet.
var ErrNotUnpacked = errors.New("the embedded interpreter is not unpacked yet")

// ErrUnsupported says that no interpreter is embedded for this platform.
var ErrUnsupported = errors.New("no interpreter is embedded for this platform")

const repairHint = "gearbox doctor --repair"

// TamperedError says that an unpacked interpreter is not what was unpacked. It is
// never run in that state.
type TamperedError struct {
	// Path is the first file at fault, What is wrong with it.
	Path, What string
	// Others is how many more files are at fault.
	Others int
	Hint   string
}

func (e *TamperedError) Error() string {
	more := ""
	if e.Others > 0 {
		more = fmt.Sprintf(" (and %d more)", e.Others)
	}
	return fmt.Sprintf("%s: %s%s: the interpreter was changed after it was unpacked; mend it with: %s", e.Path, e.What, more, e.Hint)
}

// DirectoryError says that a directory cannot be trusted to keep an interpreter.
type DirectoryError struct {
	Path, What, Hint string
}

func (e *DirectoryError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Path, e.What, e.Hint)
}

// SpaceError says that the disk has no room for an interpreter.
type SpaceError struct {
	Path   string
	Needed execution.Bytes
	Err    error
}

func (e *SpaceError) Error() string {
	needed := (e.Needed + execution.MiB - 1) / execution.MiB * execution.MiB
	return fmt.Sprintf("%s: no room to unpack the interpreter: %v are needed: %v", e.Path, needed, e.Err)
}

func (e *SpaceError) Unwrap() error { return e.Err }

// InterpreterError says that a path given by the operator is not an interpreter
// that can be used.
type InterpreterError struct {
	Path, What, Hint string
}

func (e *InterpreterError) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("%s: %s", e.Path, e.What)
	}
	return fmt.Sprintf("%s: %s: %s", e.Path, e.What, e.Hint)
}
