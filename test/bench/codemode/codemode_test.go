//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cli"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// TestMain lets the test binary stand in for gearbox, sandbox processes included.
func TestMain(m *testing.M) {
	sidecar.Reexec()
	if filepath.Base(os.Args[0]) == "gearbox" {
		os.Exit(cli.Process())
	}
	os.Exit(m.Run())
}

func TestBothWaysComeToTheSameResultAndTheDocumentHasEveryTask(t *testing.T) {
	text, err := os.ReadFile("../../../docs/benchmarks-code-mode.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tasks() {
		if !strings.Contains(string(text), "\n| "+one.name+" |") {
			t.Errorf("the document lacks %q: make bench-codemode", one.name)
		}
	}
	place := t.TempDir()
	w, err := newWorld(t.Context(), "../../..", place)
	if errors.Is(err, errAbsent) {
		t.Skipf("skipped: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(place, "gearbox")
	if err := os.Symlink(self, binary); err != nil {
		t.Fatal(err)
	}
	first := exec.CommandContext(t.Context(), binary, "exec", "--data-dir", filepath.Join(place, "data"), "-c", "1")
	if out, err := first.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "UNAVAILABLE") {
			t.Skipf("skipped: this machine cannot run code in the sandbox: %s", out)
		}
		t.Fatalf("gearbox exec: %v\n%s", err, out)
	}
	rows, err := w.all(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.direct.Trips == 0 || r.code.Trips == 0 || r.direct.Read == 0 || r.code.Read == 0 {
			t.Errorf("%s: nothing was counted: %+v", r.name, r)
		}
	}
}

func TestWhatIsCountedAreCharactersWithoutTheNameOfTheFolder(t *testing.T) {
	tr := &trace{place: "/tmp/gearbox-codemode-1234567"}
	if n := tr.length("é /tmp/gearbox-codemode-1234567/files"); n != len("e /home/user/files") {
		t.Errorf("%d characters", n)
	}
	if got, err := plainJSON(map[string]any{"code": "a < b\n"}); err != nil || got != `{"code":"a < b\n"}` {
		t.Errorf("%s, %v", got, err)
	}
	if got := number(1234567); got != "1,234,567" {
		t.Error(got)
	}
}
