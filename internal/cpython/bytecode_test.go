package cpython_test

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
)

func sources(text string) fstest.MapFS {
	return fstest.MapFS{"pkg/__init__.py": {}, "pkg/answer.py": {Data: []byte(text)}}
}

func TestByteCodeIsKeptForItsSourcesAndItsInterpreter(t *testing.T) {
	python, dir := cpythontest.Interpreter(t), t.TempDir()
	t.Cleanup(python.Release)
	if _, ok := cpython.LoadByteCode(dir, python, sources("x = 42\n")); ok {
		t.Fatal("found before it was made")
	}
	made, err := cpython.MakeByteCode(t.Context(), dir, python, sources("x = 42\n"))
	if err != nil || len(made) != 2 {
		t.Fatalf("%d files, %v", len(made), err)
	}
	kept, ok := cpython.LoadByteCode(dir, python, sources("x = 42\n"))
	if !ok || len(kept) != 2 {
		t.Fatalf("not kept: %d files", len(kept))
	}
	if _, ok := cpython.LoadByteCode(dir, python, sources("x = 43\n")); ok {
		t.Error("found for other sources")
	}
	other := python
	other.Content[0]++
	if _, ok := cpython.LoadByteCode(dir, other, sources("x = 42\n")); ok {
		t.Error("found for another interpreter")
	}
	for name, code := range kept {
		if !strings.HasPrefix(name, "answer.") {
			continue
		}
		program := "import base64, marshal, sys\nexec(marshal.loads(base64.b64decode(sys.argv[1])[16:]))\nprint(x)"
		out, err := exec.CommandContext(t.Context(), python.Executable, "-I", "-S", "-B", "-c", program, base64.StdEncoding.EncodeToString(code)).Output()
		if err != nil || strings.TrimSpace(string(out)) != "42" {
			t.Errorf("%s, %v", out, err)
		}
	}
}

func TestDamagedByteCodeIsNotUsed(t *testing.T) {
	python, dir := cpythontest.Interpreter(t), t.TempDir()
	t.Cleanup(python.Release)
	if _, err := cpython.MakeByteCode(t.Context(), dir, python, sources("x = 42\n")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "bytecode", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := cpython.LoadByteCode(dir, python, sources("x = 42\n")); ok {
		t.Error("a flipped bit was not noticed")
	}
}

func TestSourceThatDoesNotCompileIsAnError(t *testing.T) {
	python := cpythontest.Interpreter(t)
	t.Cleanup(python.Release)
	if _, err := cpython.MakeByteCode(t.Context(), t.TempDir(), python, sources("x = (\n")); err == nil {
		t.Error("no error")
	}
}
