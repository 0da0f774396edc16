package serverfile

import (
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// Entry is one server as a file has it: nothing is expanded, so that it can be written
// down again without the secrets that its variables hold.
type Entry struct {
	// Spec has the values as they are written, in the words of our own files. Its Fault is
	// what is wrong with them whatever the variables hold.
	Spec upstream.Spec
	// EnvFile is a file of further variables for the server; empty for none.
	EnvFile string
	// EnvVars are variables that the server gets where they are set.
	EnvVars []string

	File string
	Line int // of its name
	// Self tells that it would start this very program again.
	Self bool
	// Elsewhere tells that it runs inside another program, which alone can start it.
	Elsewhere bool

	inputs map[string]string // what the file says of its inputs, by id
}

// Place is where the entry stands.
func (e Entry) Place() string { return place(e.File, e.Line) }

// fault adds something that is wrong with the server.
func (e *Entry) fault(what string) { e.Spec.Fault = together(e.Spec.Fault, what) }

func together(said, more string) string {
	if said == "" {
		return more
	}
	return said + "; " + more
}
