package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/upstream/serverfile"
)

func TestAFileOfServersInTheWorkingDirectoryIsNamedAndNotRead(t *testing.T) {
	alone(t)
	work, data := t.TempDir(), os.Getenv("GEARBOX_DATA_DIR")
	t.Chdir(work)
	o := sidecar.Options{DataDir: data}
	if note := strayServers(o); note != "" {
		t.Errorf("there is no file, and yet: %s", note)
	}
	if err := os.WriteFile(serverfile.FileName, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err := serverFiles(o); err != nil || files != nil {
		t.Errorf("%q are read, %v", files, err)
	}
	if note := strayServers(o); !strings.Contains(note, "--mcp-servers") {
		t.Errorf("the note is %q", note)
	}
	o.MCPServers = []string{serverfile.FileName}
	if note := strayServers(o); note != "" {
		t.Errorf("the file is read, and yet: %s", note)
	}
	o.MCPServers = nil
	if err := os.WriteFile(filepath.Join(data, serverfile.FileName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err := serverFiles(o); err != nil || len(files) != 1 || files[0] != filepath.Join(data, serverfile.FileName) {
		t.Errorf("%q are read, %v", files, err)
	}
	o.MCPServers = []string{}
	if files, err := serverFiles(o); err != nil || len(files) != 0 {
		t.Errorf("an empty list was said, and %q are read, %v", files, err)
	}
}

func TestEveryClientThatCanBeImportedIsInTheHelp(t *testing.T) {
	help := (&app{}).upstreamImportCommand().Long
	for _, name := range []string{"claude-code", "vscode", "gemini", "opencode"} {
		if !strings.Contains(help, name) {
			t.Errorf("the help does not name %s", name)
		}
	}
}
