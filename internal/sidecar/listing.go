package sidecar

import (
	"os"
	"path/filepath"

	"github.com/gearbox-mcp/gearbox/internal/authz"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// ListGears are the gears that a start with these options could name. Nothing is
// prepared and no directory is made.
func ListGears(o Options) ([]gear.Entry, error) {
	dir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	return gear.OpenRegistry(filepath.Join(dir, "gears")).List(), nil
}

// FindGear is the gear that the options name, by name or by file, alone and with
// the operator's rules in force. Nothing is prepared and no directory is made.
func FindGear(o Options) (gear.Gear, gear.Frozen, error) {
	dir, err := o.dataDir()
	if err != nil {
		return gear.Gear{}, gear.Frozen{}, err
	}
	if st, err := os.Stat(dir); err == nil {
		if err := checkOwner(dir, st); err != nil {
			return gear.Gear{}, gear.Frozen{}, err
		}
	}
	g, err := choose(o, dir)
	if err != nil {
		return gear.Gear{}, gear.Frozen{}, err
	}
	return g.server, g.base, nil
}

// Explain says of every permission what the door would say, and does nothing.
func Explain(o Options, g gear.Frozen, permissions []policy.Permission) ([]authz.Verdict, error) {
	dir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	return authz.Explain(mechanisms(dir, len(o.serverFiles(dir)) > 0), g, permissions), nil
}
