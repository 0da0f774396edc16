package clientconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ServerName is the key under which a client knows Gearbox.
const ServerName = "gearbox"

// Client is an MCP client whose configuration file is known.
type Client string

// The clients.
const (
	ClaudeCode    Client = "claude-code"
	ClaudeDesktop Client = "claude-desktop"
	Cursor        Client = "cursor"
	VSCode        Client = "vscode"
	Codex         Client = "codex"
)

// Clients lists every client.
func Clients() []Client { return []Client{ClaudeCode, ClaudeDesktop, Cursor, VSCode, Codex} }

// ParseClient reads the name of a client.
func ParseClient(name string) (Client, error) {
	names := make([]string, 0, len(Clients()))
	for _, c := range Clients() {
		if string(c) == strings.ToLower(strings.TrimSpace(name)) {
			return c, nil
		}
		names = append(names, string(c))
	}
	return "", fmt.Errorf("unknown client %q: use one of %s", name, strings.Join(names, ", "))
}

// Title is the client's name as its makers write it.
func (c Client) Title() string {
	switch c {
	case ClaudeCode:
		return "Claude Code"
	case ClaudeDesktop:
		return "Claude Desktop"
	case Cursor:
		return "Cursor"
	case VSCode:
		return "VS Code"
	case Codex:
		return "Codex"
	}
	return string(c)
}

// System is what decides where a client keeps its user-wide file.
type System struct {
	OS   string // as runtime.GOOS
	Home string
	// Getenv reads CLAUDE_CONFIG_DIR, CODEX_HOME, XDG_CONFIG_HOME and APPDATA.
	Getenv func(string) string
}

// ErrNoProjectFile says that a client reads only its user-wide file.
var ErrNoProjectFile = errors.New("has no configuration file of its own in a project: install without --project")

// UserFile is the client's user-wide configuration file.
func (c Client) UserFile(s System) (string, error) {
	if s.Home == "" {
		return "", errors.New("the home directory is unknown: set HOME")
	}
	switch c {
	case ClaudeCode:
		return filepath.Join(orElse(s.Getenv("CLAUDE_CONFIG_DIR"), s.Home), ".claude.json"), nil
	case ClaudeDesktop:
		return filepath.Join(s.applications(), "Claude", "claude_desktop_config.json"), nil
	case Cursor:
		return filepath.Join(s.Home, ".cursor", "mcp.json"), nil
	case VSCode:
		return filepath.Join(s.applications(), "Code", "User", "mcp.json"), nil
	case Codex:
		return filepath.Join(orElse(s.Getenv("CODEX_HOME"), filepath.Join(s.Home, ".codex")), "config.toml"), nil
	}
	return "", fmt.Errorf("unknown client %q", c)
}

// ProjectFile is the client's configuration file in the project at dir.
func (c Client) ProjectFile(dir string) (string, error) {
	switch c {
	case ClaudeCode:
		return filepath.Join(dir, ".mcp.json"), nil
	case Cursor:
		return filepath.Join(dir, ".cursor", "mcp.json"), nil
	case VSCode:
		return filepath.Join(dir, ".vscode", "mcp.json"), nil
	case Codex:
		return filepath.Join(dir, ".codex", "config.toml"), nil
	case ClaudeDesktop:
		return "", fmt.Errorf("%s %w", c.Title(), ErrNoProjectFile)
	}
	return "", fmt.Errorf("unknown client %q", c)
}

// applications is where desktop programs keep their settings.
func (s System) applications() string {
	switch s.OS {
	case "darwin":
		return filepath.Join(s.Home, "Library", "Application Support")
	case "windows":
		return orElse(s.Getenv("APPDATA"), filepath.Join(s.Home, "AppData", "Roaming"))
	}
	return orElse(s.Getenv("XDG_CONFIG_HOME"), filepath.Join(s.Home, ".config"))
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// format is how the client's file is written.
func (c Client) format() format {
	switch c {
	case VSCode:
		return jsonFormat{key: "servers", stdio: true}
	case ClaudeCode:
		return jsonFormat{key: "mcpServers", stdio: true}
	case Codex:
		return tomlFormat{}
	case ClaudeDesktop, Cursor:
	}
	return jsonFormat{key: "mcpServers"}
}

// Present lists the clients that have left a trace on this system: their file,
// or the directory that only they make.
func Present(s System) []Client {
	var out []Client
	for _, c := range Clients() {
		path, err := c.UserFile(s)
		if err != nil {
			continue
		}
		if exists(path) || (filepath.Dir(path) != filepath.Clean(s.Home) && exists(filepath.Dir(path))) {
			out = append(out, c)
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
