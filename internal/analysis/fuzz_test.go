//go:build unix

package analysis_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/analysis"
	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/guest"
)

// maxFuzzed keeps an input to what the parser reads in no time: what takes long is
// the business of the hostile sources.
const maxFuzzed = 4 << 10

// analyser is the guest's analyser in a process that answers source after source.
type analyser struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func newAnalyser(f *testing.F) *analyser {
	interpreter := cpythontest.Interpreter(f)
	folder := f.TempDir()
	if err := os.CopyFS(folder, guest.Files); err != nil {
		f.Fatal(err)
	}
	cmd := exec.CommandContext(f.Context(), interpreter.Executable, "-I", "-B", "testdata/analyse.py", folder, strconv.Itoa(memory))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		interpreter.Release()
	})
	return &analyser{in: in, out: bufio.NewReader(out)}
}

func (a *analyser) ask(t *testing.T, source string) bridge.FactsHead {
	t.Helper()
	line, err := json.Marshal([]string{source})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("the analyser is gone: %v", err)
	}
	answer, err := a.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the analyser died of %q: %v", source, err)
	}
	var heads []bridge.FactsHead
	if err := json.Unmarshal(answer, &heads); err != nil || len(heads) != 1 {
		t.Fatalf("%d answers: %v", len(heads), err)
	}
	return heads[0]
}

func FuzzTheAnalyserOutlivesEverySource(f *testing.F) {
	for _, seed := range []string{
		"print(1)", "import os as o; o.system('id')", "f'{x!r:>{w}}'", "match a:\n case {'k': b}: pass", "async def f(): await g()",
		"x = (lambda: [i for i in range(3)])()", "def f(*, a, **k) -> 'T': ...", "getattr(__builtins__, 'ev' + 'al')", "open('\\udcff')",
		"type X[T: int] = list[T]", "with open('/etc/passwd') as f, g(): pass", "[", "\tx", "é = 1", "0x", "'''", "@d\nclass C(metaclass=M): pass",
	} {
		f.Add(seed)
	}
	a := newAnalyser(f)
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > maxFuzzed || !utf8.ValidString(source) || strings.ContainsRune(source, 0) {
			return
		}
		first := a.ask(t, source)
		if _, err := analysis.Permissions(first, analysis.Workspace, nil); err != nil {
			t.Fatalf("%q gives facts that no analyser writes: %v", source, err)
		}
		if second := a.ask(t, source); analysis.Digest("", source, first) != analysis.Digest("", source, second) {
			t.Fatalf("%q gives other facts the second time: %+v, %+v", source, first, second)
		}
	})
}
