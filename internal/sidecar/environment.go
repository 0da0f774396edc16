package sidecar

import (
	"context"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/mcpserver"
)

// environment answers what code would find.
type environment struct {
	places *places
	gears  *gears
}

var _ mcpserver.Environment = (*environment)(nil)

// Info implements [mcpserver.Environment].
func (e *environment) Info(ctx context.Context, p execution.Principal) (mcpserver.Info, error) {
	g, err := e.gears.Freeze(p, "")
	if err != nil {
		return mcpserver.Info{}, err
	}
	info := mcpserver.Info{
		Gear: g.Name(), GearDescription: g.Description(), Languages: e.places.languages(g),
		WorkDir: "/workspace", Limits: g.Limits(),
	}
	place, err := e.places.Place(ctx, p, g, e.places.mainLanguage(g))
	if err != nil {
		info.Warnings = []string{err.Error()}
		return info, nil
	}
	info.Isolation, info.Backend, info.Warnings = place.Isolation, place.Backend, place.Warnings
	if !hasWorkspace(place.Isolation) {
		info.WorkDir = "a private directory of each run, which os.getcwd() and $HOME name; relative paths work as ever"
	}
	python, err := e.places.current(ctx)
	if err != nil {
		return info, nil // Place has said why
	}
	info.Python = python.Version
	list, err := cpython.Packages(ctx, python)
	if err != nil {
		return info, err
	}
	info.Packages = len(list)
	return info, nil
}

// hasWorkspace reports whether the working directory can be called /workspace, which
// takes a mount.
func hasWorkspace(l execution.Level) bool {
	return l != execution.LevelNoUserns && l != execution.LevelNone
}

// Packages implements [mcpserver.Environment].
func (e *environment) Packages(ctx context.Context, query string) (mcpserver.PackageList, error) {
	python, err := e.places.current(ctx)
	if err != nil {
		return mcpserver.PackageList{}, e.places.noPython(err)
	}
	list, err := cpython.Packages(ctx, python)
	if err != nil {
		return mcpserver.PackageList{}, err
	}
	out := mcpserver.PackageList{Python: python.Version, Packages: []mcpserver.Package{}}
	for _, p := range list {
		if matches(p, query) {
			out.Packages = append(out.Packages, mcpserver.Package{Name: p.Name, Version: p.Version, ImportNames: p.ImportNames})
		}
	}
	return out, nil
}

func matches(p cpython.Package, query string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	for _, name := range append([]string{p.Name}, p.ImportNames...) {
		if strings.Contains(strings.ToLower(name), query) {
			return true
		}
	}
	return false
}

// GearText implements [mcpserver.Environment].
func (e *environment) GearText(_ context.Context, p execution.Principal) (string, error) {
	g, err := e.gears.Freeze(p, "")
	if err != nil {
		return "", err
	}
	return g.Show()
}
