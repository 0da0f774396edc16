package engine

import (
	"bytes"
	"strconv"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// The codes of an exit that a program chose itself: in Python it is an exception.
const (
	codePythonExit = "SystemExit"
	codeExit       = "EXIT"
)

// Exit statuses of bash itself: after a syntax error or for want of memory, for a
// command that is nowhere, and when it gave up on a process that the kernel refused.
const (
	shellMisuse   = 2
	shellNotFound = 127
	shellNoFork   = 254
)

const absentHint = "A command was not found. The sandbox holds only the programs that the gear grants; env://gear lists them."

func exitError(code string, status int) *execution.Error {
	return &execution.Error{Code: code, Message: "the program exited with code " + strconv.Itoa(status)}
}

// exited judges an exit status other than 0. As with an exception in Python, one that
// a limit causes is that limit's.
func (op *operation) exited(r execution.Result, ended sandbox.Ended) execution.Result {
	r.Status, r.ExitCode = execution.StatusError, ended.ExitCode
	r.Error = exitError(codePythonExit, ended.ExitCode)
	if op.request.Language != execution.Bash {
		return r
	}
	r.Error.Code = codeExit
	limited := func(s execution.Status, c execution.Code, why string) {
		r.Status, r.Error.Code, r.Error.Message = s, string(c), r.Error.Message+": "+why
	}
	switch {
	case ended.ScratchFull:
		limited(execution.StatusDiskLimit, execution.CodeDiskLimit, "the scratch space was used up")
	case ended.ProcessesFull && ended.ExitCode == shellNoFork:
		limited(execution.StatusProcessLimit, execution.CodeProcessLimit, "the limit on processes was met")
	case ended.ExitCode == shellMisuse && outOfMemory(op.lastWords()):
		limited(execution.StatusMemoryLimit, execution.CodeMemoryLimit, "the limit on memory was met")
	case ended.ExitCode == shellMisuse && op.unparsed != nil:
		r.Error.Code, r.Error.Message = op.unparsed.Class, op.unparsed.Message
	case ended.ExitCode == shellNotFound:
		r.Error.Hint = absentHint
	}
	return r
}

// lastWords is the end of what the program wrote to its standard error.
func (op *operation) lastWords() []byte {
	_, o := op.output()
	if len(o.Tail) > 0 {
		return o.Tail
	}
	return o.Head
}

// outOfMemory tells the last line of a bash that the kernel refused memory (xmalloc.c).
func outOfMemory(words []byte) bool {
	words = bytes.TrimSuffix(words, []byte("\n"))
	last := words[bytes.LastIndexByte(words, '\n')+1:]
	return bytes.Contains(last, []byte("alloc: cannot allocate ")) && bytes.Contains(last, []byte(" bytes"))
}
