package cpython

import (
	"os/exec"
	"strings"
	"testing"
)

func TestFirstStartUnpacksAndLaterStartsFindIt(t *testing.T) {
	config := Config{Dir: t.TempDir()}
	first, err := Ensure(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	config.Progress = func(s string) { t.Errorf("the second start did something slow: %s", s) }
	second, err := Ensure(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if first.Root != second.Root || first.Digest != second.Digest || first.Digest.IsZero() {
		t.Fatalf("first %+v, second %+v", first, second)
	}
	out, err := exec.CommandContext(t.Context(), first.Executable, "-I", "-c", "import sys, ssl; print(sys.version.split()[0])").Output()
	if err != nil || strings.TrimSpace(string(out)) != first.Version {
		t.Fatalf("the interpreter says %q, %v; the installation says %q", out, err, first.Version)
	}
}
