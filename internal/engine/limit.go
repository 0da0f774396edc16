package engine

import (
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// Linux error numbers by which a program learns that a limit was met (errno(3)).
const (
	errnoAgain = 11  // EAGAIN: no more processes
	errnoNoMem = 12  // ENOMEM: no more memory to map
	errnoFBig  = 27  // EFBIG
	errnoNoSpc = 28  // ENOSPC
	errnoDQuot = 122 // EDQUOT
)

// noThread is what CPython's thread module says when the kernel gives it no
// thread, for want of a process number or of room for a stack.
const noThread = "can't start new thread"

// limitMet tells which limit made the program raise an exception, if one did. The
// reason goes behind the exception's own words, which name no number.
func (op *operation) limitMet(ended sandbox.Ended, ex *bridge.Exception) (verdict, bool) {
	l := op.limits
	switch {
	case ex.Class == "MemoryError", ex.Errno == errnoNoMem:
		return verdict{execution.StatusMemoryLimit, execution.CodeMemoryLimit, fmt.Sprintf("a run may use %v of memory", l.Memory)}, true
	case ex.Errno == errnoNoSpc, ex.Errno == errnoDQuot, ex.Errno == errnoFBig:
		return verdict{execution.StatusDiskLimit, execution.CodeDiskLimit, fmt.Sprintf("a run may write %v in %d files", l.Scratch, l.ScratchFiles)}, true
	case ex.Class == "RuntimeError" && ex.Message == noThread, ex.Errno == errnoAgain && (ended.ProcessesFull || forking(ex)):
		return verdict{execution.StatusProcessLimit, execution.CodeProcessLimit, fmt.Sprintf("a run may have %d processes and threads", l.Processes)}, true
	}
	return verdict{}, false
}

// forking reports whether the program was about to start a process. A program
// that fails at the limit can be gone before the host has seen the limit met, and
// the same error number says that a descriptor is not ready.
func forking(ex *bridge.Exception) bool {
	return strings.Contains(ex.Text, "fork") || strings.Contains(ex.Text, "posix_spawn")
}
