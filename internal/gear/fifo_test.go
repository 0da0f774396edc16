//go:build unix

package gear_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/gear"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo.yaml"), 0o600); err != nil {
		t.Skipf("this file system has no FIFOs: %v", err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "endless.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	registry := gear.OpenRegistry(dir)
	for _, name := range []string{"fifo", "endless", "folder"} {
		path := filepath.Join(dir, name+".yaml")
		_, byName := registry.Get(name)
		_, byFile := registry.LoadFile(path)
		_, asRules := gear.LoadOverlays(path)
		for _, err := range []error{byName, byFile, asRules} {
			var e *gear.FileError
			if !errors.As(err, &e) || e.Message != "is not a regular file" || e.File != path {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
