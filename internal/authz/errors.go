package authz

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// ErrNoApprover is what an [Approver] returns when nobody can be asked.
var ErrNoApprover = errors.New("no approver connected")

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

// PendingError says that a human has been asked.
type PendingError struct {
	Request execution.ID
	Expires time.Time
}

func (e *PendingError) Error() string { return "waiting for approval of " + string(e.Request) }
