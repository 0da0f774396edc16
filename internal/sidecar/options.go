package sidecar

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// DefaultGear is the gear of a start that names none.
const DefaultGear = "user_confirmed"

// Options are what an operator sets. The zero value is the documented default.
type Options struct {
	// Gear is the name of a gear or the path of a gear file.
	Gear string
	// Allow, Ask and Deny are rules of this start, beside those of the rules file.
	Allow, Ask, Deny []string
	// Python is an interpreter or virtual environment of the operator; empty
	// means the embedded one.
	Python string
	// Backend is the backend to use; empty means the best that works here.
	Backend string
	// MinimumIsolation is the weakest level that runs anything; empty means
	// no-proc, and in a container, which is an outer wall of its own, no-userns.
	MinimumIsolation string
	// AllowFullTrust permits gears without isolation.
	AllowFullTrust bool
	// AllowFullTrustAsRoot permits them even for uid 0.
	AllowFullTrustAsRoot bool
	// FinishPreparing lets Close wait until a new interpreter is byte-compiled:
	// for short commands, which would otherwise never get to it.
	FinishPreparing bool
	// Compat names the drop-in profiles to add.
	Compat []string
	// DataDir is where everything is kept; empty means GEARBOX_DATA_DIR, then
	// $XDG_DATA_HOME/gearbox, then ~/.local/share/gearbox.
	DataDir string
}

func (o Options) gear() string {
	if o.Gear == "" {
		return DefaultGear
	}
	return o.Gear
}

func (o Options) minimumIsolation(inContainer bool) (execution.Level, error) {
	switch {
	case o.MinimumIsolation != "":
		return execution.ParseLevel(o.MinimumIsolation)
	case inContainer:
		return execution.LevelNoUserns, nil
	default:
		return execution.LevelNoProc, nil
	}
}

func (o Options) dataDir() (string, error) {
	dir := o.DataDir
	if dir == "" {
		dir = os.Getenv("GEARBOX_DATA_DIR")
	}
	if dir == "" {
		base := os.Getenv("XDG_DATA_HOME")
		if base == "" || !filepath.IsAbs(base) { // the XDG specification: relative paths are ignored
			home, err := os.UserHomeDir()
			if err != nil {
				return "", errors.New("no data directory: set --data-dir or GEARBOX_DATA_DIR, because HOME is not set")
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "gearbox")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", dir, err)
	}
	return abs, nil
}
