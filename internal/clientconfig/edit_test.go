package clientconfig

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestSecondInstallWritesNothing(t *testing.T) {
	for _, c := range Clients() {
		target := Target{Client: c, Path: filepath.Join(t.TempDir(), "config")}
		if out, err := Install(target, sample, noon); err != nil || out.Change != Created {
			t.Fatalf("%s: first: %+v, %v", c, out, err)
		}
		before := read(t, target.Path)
		out, err := Install(target, sample, noon.Add(time.Hour))
		if err != nil || out.Change != Unchanged || out.Backup != "" {
			t.Errorf("%s: second: %+v, %v", c, out, err)
		}
		if !bytes.Equal(read(t, target.Path), before) || len(names(t, filepath.Dir(target.Path))) != 1 {
			t.Errorf("%s: the second installation wrote something", c)
		}
	}
}

func TestFileMadeByInstallGoesWithUninstall(t *testing.T) {
	for _, c := range Clients() {
		target := Target{Client: c, Path: filepath.Join(t.TempDir(), "new", "config")}
		if _, err := Install(target, sample, noon); err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" {
			mode(t, target.Path, 0o600)
			mode(t, filepath.Dir(target.Path), 0o700|fs.ModeDir)
		}
		out, err := Uninstall(target, noon)
		if err != nil || out.Change != Deleted {
			t.Errorf("%s: %+v, %v", c, out, err)
		}
		if left := names(t, filepath.Dir(target.Path)); len(left) != 0 {
			t.Errorf("%s: left over: %v", c, left)
		}
		if out, err := Uninstall(target, noon); err != nil || out.Change != Unchanged {
			t.Errorf("%s: second: %+v, %v", c, out, err)
		}
	}
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s: mode %v, want %v", path, info.Mode(), want)
	}
}

func TestUserEditsAfterInstallSurviveUninstall(t *testing.T) {
	target := Target{Client: Cursor, Path: filepath.Join(t.TempDir(), "mcp.json")}
	write(t, target.Path, []byte("{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}\n  }\n}\n"))
	if _, err := Install(target, sample, noon); err != nil {
		t.Fatal(err)
	}
	edited := bytes.Replace(read(t, target.Path), []byte(`"a": {`), []byte(`"b": {`), 1)
	write(t, target.Path, edited)
	out, err := Uninstall(target, noon)
	if err != nil || out.Change != Removed || out.Backup == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	if got, want := string(read(t, target.Path)), "{\n  \"mcpServers\": {\n    \"b\": {\"command\": \"a\"}\n  }\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !bytes.Equal(read(t, out.Backup), edited) {
		t.Error("the backup is not what was there")
	}
}

func TestBackupIsNeverOverwritten(t *testing.T) {
	target := Target{Client: Cursor, Path: filepath.Join(t.TempDir(), "mcp.json")}
	seen := map[string]bool{}
	write(t, target.Path, []byte("{}"))
	for _, arg := range []string{"a", "b", "c"} {
		out, err := Install(target, Entry{Command: "/g", Args: []string{arg}}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if seen[out.Backup] {
			t.Errorf("%s was written twice", out.Backup)
		}
		seen[out.Backup] = true
	}
	if out, err := Uninstall(target, noon); err != nil || out.Change != Restored {
		t.Errorf("%+v, %v: want the first backup back", out, err)
	}
	if got := read(t, target.Path); string(got) != "{}" {
		t.Errorf("restored to %q", got)
	}
}

func TestBrokenFileIsNamedByLineAndLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		client  Client
		text    string
		message string
	}{
		"json syntax":        {Cursor, "{\n  \"mcpServers\": {\n    \"a\": }\n", "line 3"},
		"json cut off":       {VSCode, "{\n  \"servers\": {\n", "line 3"},
		"json list":          {ClaudeCode, "[]", "line 1"},
		"servers is a list":  {ClaudeDesktop, "{\n\n\"mcpServers\": []}", "not a table"},
		"servers twice":      {Cursor, "{\"mcpServers\": {},\n\"mcpServers\": {}}", "line 2"},
		"entry twice":        {Cursor, "{\"mcpServers\": {\"gearbox\": 1,\n\n\"gearbox\": {}}}", "line 3"},
		"toml syntax":        {Codex, "model = \"x\"\n\nnope\n", "line 3"},
		"toml key twice":     {Codex, "a = 1\na = 2\n", "line 2"},
		"toml inline":        {Codex, "a = 1\nmcp_servers = { x = { command = \"x\" } }\n", "line 2"},
		"toml inline entry":  {Codex, "[mcp_servers]\ngearbox = { command = \"x\" }\n", "line 2"},
		"toml not a table":   {Codex, "mcp_servers = 3\n", "not a table"},
		"toml array entry":   {Codex, "[[mcp_servers.gearbox]]\ncommand = \"x\"\n", "array"},
		"not even text":      {Codex, "\xff\xfe", "line 1"},
		"json not even text": {Cursor, "\x00\x01", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			target := Target{Client: c.client, Path: filepath.Join(t.TempDir(), "config")}
			write(t, target.Path, []byte(c.text))
			_, err := Install(target, sample, noon)
			if err == nil || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), target.Path) {
				t.Errorf("error %v: want the path and %q", err, c.message)
			}
			if got := read(t, target.Path); string(got) != c.text {
				t.Errorf("the file became %q", got)
			}
			if left := names(t, filepath.Dir(target.Path)); len(left) != 1 {
				t.Errorf("files appeared: %v", left)
			}
		})
	}
}

func TestSymbolicLinkIsFollowedAndKept(t *testing.T) {
	dir := t.TempDir()
	dotfiles := filepath.Join(dir, "dotfiles")
	if err := os.Mkdir(dotfiles, 0o755); err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dotfiles, "mcp.json"), filepath.Join(dir, "mcp.json")
	write(t, real, []byte("{}"))
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if _, err := Install(Target{Client: Cursor, Path: link}, sample, noon); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if !bytes.Contains(read(t, real), []byte("gearbox")) {
		t.Error("the linked file was not edited")
	}
	if runtime.GOOS != "windows" {
		mode(t, real, 0o640)
	}
}

func TestLinksThatCannotBeFollowedSafelyAreRefused(t *testing.T) {
	dir := t.TempDir()
	project, outside := filepath.Join(dir, "project"), filepath.Join(dir, "outside.json")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, outside, []byte("{}"))
	out, dangling, folder := filepath.Join(project, "out.json"), filepath.Join(project, "dangling.json"), filepath.Join(project, ".cursor")
	for link, to := range map[string]string{out: outside, dangling: filepath.Join(dir, "nowhere"), folder: dir} {
		if err := os.Symlink(to, link); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for _, path := range []string{out, dangling, filepath.Join(folder, "outside.json"), filepath.Join(folder, "new.json"), project} {
		if _, err := Install(Target{Client: Cursor, Path: path, Within: project}, sample, noon); err == nil {
			t.Errorf("%s was edited", path)
		}
	}
	if got := read(t, outside); string(got) != "{}" {
		t.Errorf("the file outside became %q", got)
	}
}

func TestFileThatAClientRewroteMeanwhileIsLeftAlone(t *testing.T) {
	target := Target{Client: ClaudeCode, Path: filepath.Join(t.TempDir(), ".claude.json")}
	write(t, target.Path, []byte("{}"))
	f, err := openFile(target)
	if err != nil {
		t.Fatal(err)
	}
	write(t, target.Path, []byte(`{"numStartups": 2}`))
	if err := f.replace([]byte("{}")); err == nil || !strings.Contains(err.Error(), "changed while") {
		t.Errorf("error %v", err)
	}
	if got := read(t, target.Path); string(got) != `{"numStartups": 2}` {
		t.Errorf("the file became %q", got)
	}
}
