//go:build linux

package sidecar_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestAnInterpreterThatCannotBeUsedFailsTheStart(t *testing.T) {
	dir := t.TempDir()
	python := cpythontest.Interpreter(t)
	t.Cleanup(python.Release)
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte(read(t, python.Executable)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"nothing":     {filepath.Join(dir, "nowhere"), "no such file"},
		"no program":  {plain, "permission denied"},
		"another one": {"/bin/true", "is not a Python interpreter"},
		"a directory": {dir, "without an interpreter in it"},
	} {
		_, err := tryOpen(t, sidecar.Options{DataDir: t.TempDir(), Python: c.path})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "--python: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
