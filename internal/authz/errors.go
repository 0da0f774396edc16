package authz

import (
	"fmt"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// DeniedError says that the door stays shut, and why for each permission.
type DeniedError struct {
	Refusals []Verdict
	// Reason is set when something other than a permission decided.
	Reason string
}

func (e *DeniedError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	names := make([]string, 0, len(e.Refusals))
	for _, r := range e.Refusals {
		names = append(names, r.Decision.Permission.String())
	}
	return fmt.Sprintf("refused: %s", strings.Join(names, ", "))
}

// PendingError says that a human has to be asked.
type PendingError struct {
	Question execution.Approval
	// Events are what was decided, and that the question was put: they belong into the
	// commit that keeps the question.
	Events []audit.Event
}

func (e *PendingError) Error() string { return "a human has to be asked: " + e.Question.Summary }
