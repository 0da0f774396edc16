package serverfile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

var update = flag.Bool("update", false, "write the golden files anew")

// variables is the environment of the tests.
func variables(name string) (string, bool) {
	v, ok := map[string]string{
		"GITHUB_TOKEN": "ghp_1", "DATABASE_URL": "postgres://db/x", "PGPASSWORD": "from-the-environment", "LINEAR_KEY": "lin",
		"INPUT_PERPLEXITY_KEY": "pplx", "CONTEXT7_KEY": "c7", "FIGMA_TOKEN": "fig", "FIGMA_ORG": "org", "SEARCH_TOKEN": "s3",
		"OAUTH_SECRET": "oauth-secret", "HOST": "", "SELF": "/opt/gear/gearbox-dev",
	}[name]
	return v, ok
}

func options() Options {
	return Options{Lookup: variables, Home: "/home/ada", Workspace: "/home/ada/project", Self: "/opt/gear/gearbox-dev"}
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// dump is what was read, without the place of this repository.
func dump(t testing.TB, c Config, err error) string {
	t.Helper()
	var b bytes.Buffer
	for _, s := range c.Servers {
		text, err := json.MarshalIndent(shown(s), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return strings.ReplaceAll(filepath.ToSlash(b.String()), filepath.ToSlash(absolute(t, "testdata")), "TESTDATA")
}

// shown leaves out what is not set.
func shown(s upstream.Spec) map[string]any {
	text, _ := json.Marshal(s)
	all := map[string]any{}
	_ = json.Unmarshal(text, &all)
	for k, v := range all {
		if v == nil || v == "" || v == false || v == float64(0) {
			delete(all, k)
		}
	}
	return all
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s is not what it was (%v); -update rewrites it. Now:\n%s", path, err, got)
	}
}

// clientFiles are files as the programs that they are named after write them.
func clientFiles() map[string]string {
	return map[string]string{
		"claude-desktop":   "claude_desktop_config.json",
		"claude-code":      ".mcp.json",
		"claude-code-user": ".claude.json",
		"cursor":           ".cursor/mcp.json",
		"vscode":           ".vscode/mcp.json",
		"vscode-settings":  "settings.json",
		"codex":            ".codex/config.toml",
		"gemini":           ".gemini/settings.json",
		"windsurf":         "mcp_config.json",
		"zed":              "settings.json",
		"opencode":         "opencode.jsonc",
		"crush":            "crush.json",
		"goose":            "config.yaml",
		"gearbox":          "gearbox.yaml",
		"source-b":         "mcp_servers.json",
		"ours":             "mcp_servers.json",
		"wrong":            "mcp.json",
	}
}

func TestFilesOfOtherProgramsAreReadAsTheyAre(t *testing.T) {
	for name, file := range clientFiles() {
		t.Run(name, func(t *testing.T) {
			c, err := Load([]string{absolute(t, "testdata/clients/"+name+"/"+file)}, options())
			golden(t, "testdata/golden/"+name+".txt", dump(t, c, err))
		})
	}
}

func TestWhatIsExportedReadsBackUnchanged(t *testing.T) {
	for name, file := range clientFiles() {
		t.Run(name, func(t *testing.T) {
			entries, _, err := Read([]string{absolute(t, "testdata/clients/"+name+"/"+file)}, options())
			if err != nil {
				t.Fatal(err)
			}
			var good []Entry
			for _, e := range entries {
				if e.Spec.Fault == "" {
					good = append(good, e)
				}
			}
			if len(good) == 0 {
				t.Fatal("the file has no server to export")
			}
			text, err := Export(good)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), FileName)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			again, _, err := Read([]string{path}, options())
			if err != nil || len(again) != len(good) {
				t.Fatalf("%d servers read back of %d: %v\n%s", len(again), len(good), err, text)
			}
			second, err := Export(again)
			if err != nil || !bytes.Equal(text, second) {
				t.Errorf("%v: exported again it differs:\n%s\n%s", err, text, second)
			}
			for _, value := range []string{"ghp_1", "oauth-secret", "from-the-environment", "postgres://db/x"} {
				if bytes.Contains(text, []byte(value)) {
					t.Errorf("a variable was exported with what it holds:\n%s", text)
				}
			}
			sameSpecs(t, good, path)
		})
	}
}

// sameSpecs compares what entries and what an exported file expand to.
func sameSpecs(t *testing.T, entries []Entry, path string) {
	t.Helper()
	c, err := Load([]string{path}, options())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]upstream.Spec{}
	for _, s := range c.Servers {
		got[s.Name] = s
	}
	x := expander{options: options()}
	for _, e := range entries {
		want, _ := x.spec(e)
		have := got[e.Spec.Name]
		if (want.Fault == "") != (have.Fault == "") {
			t.Errorf("%s: fault %q and then %q", want.Name, want.Fault, have.Fault)
		}
		want.Origin, want.Fault, have.Origin, have.Fault = "", "", "", ""
		if a, b := fmt.Sprintf("%+v", shown(want)), fmt.Sprintf("%+v", shown(have)); a != b {
			t.Errorf("%s expands differently:\n%s\n%s", want.Name, a, b)
		}
	}
}
