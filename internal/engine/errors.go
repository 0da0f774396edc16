package engine

import "errors"

var (
	// ErrConflict says that an operation is not in the state that a transition
	// starts from.
	ErrConflict = errors.New("operation is in another state")
	// ErrNotFound says that the principal has no such operation.
	ErrNotFound = errors.New("no such operation")
	// ErrManyPending says that as many operations of the principal wait for a human as
	// may, see [execution.Change].
	ErrManyPending = errors.New("as many operations of the principal wait for a human as may")
)
