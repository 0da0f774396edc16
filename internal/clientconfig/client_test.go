package clientconfig

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestUserFilesOfEverySystem(t *testing.T) {
	environment := map[string]string{}
	system := func(goos string) System {
		return System{OS: goos, Home: "/home/ada", Getenv: func(k string) string { return environment[k] }}
	}
	check := func(c Client, goos, want string) {
		t.Helper()
		got, err := c.UserFile(system(goos))
		if err != nil || got != filepath.FromSlash(want) {
			t.Errorf("%s on %s: %q, %v: want %q", c, goos, got, err, want)
		}
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		check(ClaudeCode, goos, "/home/ada/.claude.json")
		check(Cursor, goos, "/home/ada/.cursor/mcp.json")
		check(Codex, goos, "/home/ada/.codex/config.toml")
	}
	check(ClaudeDesktop, "linux", "/home/ada/.config/Claude/claude_desktop_config.json")
	check(ClaudeDesktop, "darwin", "/home/ada/Library/Application Support/Claude/claude_desktop_config.json")
	check(ClaudeDesktop, "windows", "/home/ada/AppData/Roaming/Claude/claude_desktop_config.json")
	check(VSCode, "linux", "/home/ada/.config/Code/User/mcp.json")
	check(VSCode, "darwin", "/home/ada/Library/Application Support/Code/User/mcp.json")
	check(VSCode, "windows", "/home/ada/AppData/Roaming/Code/User/mcp.json")
	environment = map[string]string{"XDG_CONFIG_HOME": "/x", "APPDATA": "/a", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/cc"}
	check(VSCode, "linux", "/x/Code/User/mcp.json")
	check(VSCode, "windows", "/a/Code/User/mcp.json")
	check(Codex, "linux", "/c/config.toml")
	check(ClaudeCode, "linux", "/cc/.claude.json")
}

func TestUnknownHomeIsAnError(t *testing.T) {
	for _, c := range Clients() {
		if path, err := c.UserFile(System{Getenv: func(string) string { return "" }}); err == nil {
			t.Errorf("%s: %q without a home", c, path)
		}
	}
}

func TestProjectFiles(t *testing.T) {
	for c, want := range map[Client]string{
		ClaudeCode: ".mcp.json", Cursor: ".cursor/mcp.json", VSCode: ".vscode/mcp.json", Codex: ".codex/config.toml",
	} {
		if got, err := c.ProjectFile("p"); err != nil || got != filepath.Join("p", filepath.FromSlash(want)) {
			t.Errorf("%s: %q, %v", c, got, err)
		}
	}
	if _, err := ClaudeDesktop.ProjectFile("p"); !errors.Is(err, ErrNoProjectFile) {
		t.Errorf("claude-desktop: %v", err)
	}
}

func TestClientNames(t *testing.T) {
	for _, c := range Clients() {
		if got, err := ParseClient(" " + string(c) + " "); err != nil || got != c || c.Title() == string(c) {
			t.Errorf("%s: %v, %v", c, got, err)
		}
	}
	if _, err := ParseClient("vim"); err == nil {
		t.Error("an unknown client was accepted")
	}
}

func TestClientsThatLeftATraceArePresent(t *testing.T) {
	home := t.TempDir()
	s := System{OS: "linux", Home: home, Getenv: func(string) string { return "" }}
	if got := Present(s); len(got) != 0 {
		t.Errorf("an empty home has %v", got)
	}
	write(t, filepath.Join(home, ".claude.json"), []byte("{}"))
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Present(s); len(got) != 2 || got[0] != ClaudeCode || got[1] != Cursor {
		t.Errorf("got %v", got)
	}
}
