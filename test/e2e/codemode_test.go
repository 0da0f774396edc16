package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fenced are the blocks of a language in a document.
func fenced(t *testing.T, name, language string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}

// TestTheExamplesOfCodeModeWork runs them with a stand-in of the reference server.
func TestTheExamplesOfCodeModeWork(t *testing.T) {
	const page = "../../docs/code-mode.md"
	dir := t.TempDir()
	if exec.CommandContext(t.Context(), "gearbox", "doctor", "--data-dir", dir).Run() != nil {
		t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
	}
	servers := serversFile(t, "everything")
	t.Setenv("GEARBOX_DATA_DIR", dir)
	t.Setenv("GEARBOX_MCP_SERVERS", servers)
	for _, code := range fenced(t, page, "python") {
		if out, err := exec.CommandContext(t.Context(), "gearbox", "exec", "--allow", "tool(everything.*)", "-c", code).CombinedOutput(); err != nil {
			t.Errorf("%s\n%v: %s", code, err, out)
		}
	}
	tried := 0
	for line := range strings.Lines(strings.Join(fenced(t, page, "sh"), "")) {
		command := strings.TrimSpace(line)
		if !regexp.MustCompile(`^gearbox (exec|audit|upstream (list|test|tools|call|accept)) `).MatchString(command) {
			continue // it goes on, or needs somebody else
		}
		tried++
		c := exec.CommandContext(t.Context(), "sh", "-c", command)
		c.Dir = filepath.Dir(servers)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s\n%v: %s", command, err, out)
		}
	}
	if tried < 6 {
		t.Errorf("only %d commands were found", tried)
	}
}
