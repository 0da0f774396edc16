package snippet

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknown is wrapped by errors about a snippet that does not exist.
	ErrUnknown = errors.New("unknown snippet")
	// ErrExists is wrapped by the error of saving one where there is one of its name.
	ErrExists = errors.New("there is a snippet of this name")

	errForm = errors.New("lines end by a line feed, and there is no byte order mark")
)

// RefusedError is about a snippet whose file is not what was saved.
type RefusedError struct {
	Name, File, Why string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the snippet %s is refused: %s: %s", e.Name, e.File, e.Why)
}

// Hint says what to do.
func (e *RefusedError) Hint() string {
	return "look at the file and ask who changed it; then save the snippet anew with gearbox snippet save --replace, or remove it with gearbox snippet remove " + e.Name
}
