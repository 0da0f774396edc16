package sidecar

import (
	"path/filepath"

	"github.com/gearbox-mcp/gearbox/internal/gear"
)

// ListGears are the gears that a start with these options could name. Nothing is
// prepared and no directory is made.
func ListGears(o Options) ([]gear.Entry, error) {
	registry, err := registryOf(o)
	if err != nil {
		return nil, err
	}
	return registry.List(), nil
}

// FindGear is the gear that the options name, by name or by file, alone and with
// the operator's rules in force.
func FindGear(o Options) (gear.Gear, gear.Frozen, error) {
	registry, err := registryOf(o)
	if err != nil {
		return gear.Gear{}, gear.Frozen{}, err
	}
	dir, err := o.dataDir()
	if err != nil {
		return gear.Gear{}, gear.Frozen{}, err
	}
	var g gear.Gear
	if name := o.gear(); isFile(name) {
		g, err = registry.LoadFile(name)
	} else {
		g, err = registry.Get(name)
	}
	if err != nil {
		return gear.Gear{}, gear.Frozen{}, err
	}
	rules, err := overlays(o, dir)
	if err != nil {
		return gear.Gear{}, gear.Frozen{}, err
	}
	frozen, err := gear.Freeze(g, nil, nil, rules)
	return g, frozen, err
}

func registryOf(o Options) (*gear.Registry, error) {
	dir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	return gear.OpenRegistry(filepath.Join(dir, "gears")), nil
}
