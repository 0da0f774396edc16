package catalog

import (
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// NotFoundError says that nothing is called that, or more than one thing is.
type NotFoundError struct {
	Name string
	// Close are up to three names that were perhaps meant; with Ambiguous those that it
	// could mean.
	Close     []string
	Ambiguous bool
	Servers   []string // all that there are
}

func (e *NotFoundError) Error() string {
	name := visible.Line(cut(e.Name, 120))
	switch {
	case e.Ambiguous:
		return fmt.Sprintf("%s means more than one tool: %s; use the name in Python", name, strings.Join(e.Close, ", "))
	case len(e.Close) > 0:
		return fmt.Sprintf("there is no %s; did you mean %s?", name, strings.Join(e.Close, ", "))
	case len(e.Servers) > 0:
		return fmt.Sprintf("there is no %s; the servers are %s; search for the tool, or name it as server.tool", name, strings.Join(e.Servers, ", "))
	}
	return fmt.Sprintf("there is no %s: no server is connected", name)
}

// InvalidArgumentsError says why arguments do not fit a tool.
type InvalidArgumentsError struct {
	Tool string
	// Problems are sentences that tell what to mend.
	Problems []string
	// Signature is how the tool is called.
	Signature string
}

func (e *InvalidArgumentsError) Error() string {
	return fmt.Sprintf("%s: %s It is called as %s", e.Tool, strings.Join(e.Problems, " "), e.Signature)
}
