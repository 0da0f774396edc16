package catalog_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
)

// reader is a Python program that parses one stub a line and answers what is in it, so that
// Python itself is the judge of what is valid.
const reader = `
import ast, json, keyword, sys, unicodedata
for line in sys.stdin:
    asked = json.loads(line)
    try:
        tree = ast.parse(asked["stub"], "stub.pyi", feature_version=(3, 10))
        functions, others = [], []
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                a = node.args
                # The last three dots of a stub, or its documentation: nothing else is in a body.
                body = [type(n.value).__name__ if isinstance(n, ast.Expr) else type(n).__name__ for n in node.body]
                functions.append({
                    "name": node.name,
                    "positional": len(a.posonlyargs) + len(a.args) + bool(a.vararg),
                    "parameters": [p.arg for p in a.kwonlyargs],
                    "required": [p.arg for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is None],
                    "types": {p.arg: ast.unparse(p.annotation) if p.annotation else "" for p in a.kwonlyargs},
                    "returns": ast.unparse(node.returns) if node.returns else "",
                    "open": a.kwarg is not None,
                    "doc": ast.get_docstring(node, clean=False) or "",
                    "body": body,
                })
            else:
                others.append(type(node).__name__)
        answer = {"functions": functions, "others": others, "doc": ast.get_docstring(tree) or ""}
    except Exception as exc:
        answer = {"error": f"{type(exc).__name__}: {exc}"}
    answer["bad"] = [n for n in asked["names"] if not n.isidentifier() or keyword.iskeyword(n) or unicodedata.normalize("NFKC", n) != n]
    print(json.dumps(answer), flush=True)
`

// parsed is a stub as Python reads it.
type parsed struct {
	Error     string
	Doc       string
	Functions []struct {
		Name       string
		Positional int
		Parameters []string
		Required   []string
		Types      map[string]string
		Returns    string
		Open       bool
		Doc        string
		Body       []string
	}
	Others []string
	Bad    []string // names that are none
}

// python is one running reader.
type python struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

func newPython(tb testing.TB) *python {
	tb.Helper()
	interpreter := cpythontest.Interpreter(tb)
	tb.Cleanup(func() { interpreter.Release() })
	cmd := exec.CommandContext(tb.Context(), interpreter.Executable, "-I", "-c", reader)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &python{in: in, out: bufio.NewReader(out)}
}

func (p *python) read(tb testing.TB, stub string, names []string) parsed {
	tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, err := json.Marshal(map[string]any{"stub": stub, "names": append([]string{}, names...)})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := p.in.Write(append(asked, '\n')); err != nil {
		tb.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		tb.Fatal(err)
	}
	var answer parsed
	if err := json.Unmarshal(line, &answer); err != nil {
		tb.Fatal(err)
	}
	return answer
}
