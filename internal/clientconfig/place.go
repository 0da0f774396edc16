package clientconfig

import (
	"path/filepath"
	"strings"
)

// Place is a file in which a program keeps the MCP servers of its user.
type Place struct {
	Name  string // as a command line has it
	Title string // as its makers write it
	Path  string // absolute; it need not be there
}

// Known lists the places of every program whose file is known, those of [Clients] first.
// A program has several where it reads whichever is there. Without a home directory there
// are none.
func Known(s System) []Place {
	var out []Place
	for _, c := range Clients() {
		if path, err := c.UserFile(s); err == nil {
			out = append(out, Place{string(c), c.Title(), path})
		}
	}
	if s.Home == "" {
		return nil
	}
	dotConfig := orElse(s.Getenv("XDG_CONFIG_HOME"), filepath.Join(s.Home, ".config"))
	zed, goose := filepath.Join(dotConfig, "zed"), filepath.Join(dotConfig, "goose")
	if s.OS == "windows" {
		zed, goose = filepath.Join(s.applications(), "Zed"), filepath.Join(s.applications(), "Block", "goose", "config")
	}
	return append(out,
		Place{"gemini", "Gemini CLI", filepath.Join(s.Home, ".gemini", "settings.json")},
		Place{"windsurf", "Windsurf", filepath.Join(s.Home, ".codeium", "windsurf", "mcp_config.json")},
		Place{"zed", "Zed", filepath.Join(zed, "settings.json")},
		Place{"opencode", "OpenCode", filepath.Join(dotConfig, "opencode", "opencode.json")},
		Place{"opencode", "OpenCode", filepath.Join(dotConfig, "opencode", "opencode.jsonc")},
		Place{"goose", "Goose", filepath.Join(goose, "config.yaml")},
	)
}

// PlacesOf are the places of one program, none if it is not known.
func PlacesOf(s System, name string) []Place {
	var out []Place
	for _, p := range Known(s) {
		if p.Name == strings.ToLower(strings.TrimSpace(name)) {
			out = append(out, p)
		}
	}
	return out
}

// There reports whether the file is there.
func (p Place) There() bool { return exists(p.Path) }
