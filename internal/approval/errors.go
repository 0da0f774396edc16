package approval

import (
	"fmt"
	"time"
)

// Cause is why a decision is refused.
type Cause string

// The causes.
const (
	Unknown   Cause = "unknown"    // there is no such question
	Malformed Cause = "malformed"  // it is no decision
	Decided   Cause = "decided"    // somebody was first
	Late      Cause = "expired"    // the time for it is over
	Stale     Cause = "stale"      // it is one to another question
	Unproven  Cause = "credential" // whoever gives it has not shown to be the operator
	Throttled Cause = "throttled"  // there were too many such
)

// RefusedError says why a decision does not count.
type RefusedError struct {
	Cause   Cause
	Message string
	// Field is what of the decision is wrong, after [Malformed]; empty for the whole.
	Field string
	// TooLong tells that the decision was not read to its end, after [Malformed].
	TooLong bool
	// RetryAfter is when it is worth another try, after [Throttled].
	RetryAfter time.Duration
}

func (e *RefusedError) Error() string { return e.Message }

func refuse(c Cause, format string, args ...any) error {
	return &RefusedError{Cause: c, Message: fmt.Sprintf(format, args...)}
}
