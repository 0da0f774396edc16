package token

import "errors"

var (
	// ErrRefused says that a secret opens nothing: it is malformed, unknown, expired or
	// revoked. Which of them is nobody's business who has only the secret.
	ErrRefused = errors.New("the token is not valid")
	// ErrTaken is wrapped by the error of making a token whose name was used before.
	ErrTaken = errors.New("the name is taken")
	// ErrUnknown is wrapped by errors about a name that no token has.
	ErrUnknown = errors.New("there is no such token")
)

// RefusedError is [ErrRefused] with what the record should know, and the one who
// asked should not.
type RefusedError struct {
	// Token is the name of the token, empty when there is none with the secret.
	Token string
	// Reason is "malformed", "unknown", "expired" or "revoked".
	Reason string
}

// Error is the same for every reason.
func (*RefusedError) Error() string { return ErrRefused.Error() }

// Is makes it an [ErrRefused].
func (*RefusedError) Is(target error) bool { return target == ErrRefused }
