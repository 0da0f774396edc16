package clientconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEveryProgramHasAPlaceOnEverySystem(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		places := map[string]bool{}
		for _, p := range Known(System{OS: system, Home: "/home/ada", Getenv: func(string) string { return "" }}) {
			if !strings.HasPrefix(filepath.ToSlash(p.Path), "/home/ada/") || p.Title == "" || places[p.Path] {
				t.Errorf("%s: %+v", system, p)
			}
			places[p.Path], places[p.Name] = true, true
		}
		for _, name := range []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "windsurf", "zed", "opencode", "goose"} {
			if !places[name] {
				t.Errorf("%s: nobody knows where %s keeps its servers", system, name)
			}
		}
	}
}

func TestPlacesFollowTheVariablesOfTheirPrograms(t *testing.T) {
	env := map[string]string{"XDG_CONFIG_HOME": "/xdg", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude"}
	s := System{OS: "linux", Home: "/home/ada", Getenv: func(name string) string { return env[name] }}
	for name, want := range map[string]string{
		"zed": "/xdg/zed/settings.json", "opencode": "/xdg/opencode/opencode.json", "codex": "/codex/config.toml",
		" Claude-Code": "/claude/.claude.json", "gemini": "/home/ada/.gemini/settings.json",
	} {
		if got := PlacesOf(s, name); len(got) == 0 || filepath.ToSlash(got[0].Path) != want {
			t.Errorf("%s keeps its servers in %+v: want %s", name, got, want)
		}
	}
	if got := PlacesOf(s, "emacs"); got != nil {
		t.Errorf("emacs is known: %+v", got)
	}
}

func TestARewrittenFileIsItsOwnersAloneAndTheOldOneIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "servers.json")
	becomes := func(text string) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return []byte(text), nil }
	}
	first, err := Rewrite(path, time.Unix(0, 0), becomes("one"))
	if err != nil || first.Change != Created || first.Backup != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	second, err := Rewrite(path, time.Unix(0, 0), becomes("two"))
	if err != nil || second.Change != Updated {
		t.Fatalf("%+v, %v", second, err)
	}
	for name, want := range map[string]string{path: "two", second.Backup: "one"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v: want %q", name, got, err, want)
		}
		private(t, name)
	}
	again, err := Rewrite(path, time.Unix(0, 0), becomes("two"))
	if err != nil || again.Change != Unchanged || again.Backup != "" {
		t.Errorf("written again: %+v, %v", again, err)
	}
	_, err = Rewrite(path, time.Unix(0, 0), func([]byte) ([]byte, error) { return nil, errors.New("no") })
	if got, _ := os.ReadFile(path); err == nil || string(got) != "two" {
		t.Errorf("an edit that failed left %q, %v", got, err)
	}
}

// private checks that others cannot read a file.
func private(t *testing.T, path string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if os.PathSeparator == '/' && st.Mode().Perm() != newFileMode {
		t.Errorf("%s has the mode %v", path, st.Mode())
	}
}
