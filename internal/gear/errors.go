package gear

import (
	"errors"

	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
)

// ErrUnknown is wrapped by errors about a gear that does not exist.
var ErrUnknown = errors.New("unknown gear")

// ErrIsolation is wrapped by the error of a call that names a gear without
// isolation while the server's own gear has one.
var ErrIsolation = errors.New("gear without isolation")

// FileError is one mistake in a file of gears or rules.
type FileError = strictyaml.FileError
