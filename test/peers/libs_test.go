//go:build linux

package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
)

// useLibraries works with each of them a little: an import alone would not start
// their threads or reach their C code.
const useLibraries = `import json, multiprocessing, sqlite3, ssl
import numpy as np, pandas as pd
from PIL import Image
from sklearn.linear_model import LinearRegression
x = np.arange(20.0).reshape(10, 2)
image = Image.fromarray(np.zeros((4, 4, 3), dtype='uint8')).resize((2, 2))
with multiprocessing.get_context('fork').Pool(2) as pool: squares = pool.map(abs, [-1, 2])
[
    round(float(LinearRegression().fit(x, x @ [1, 2]).predict([[0, 1]])[0]), 6),
    int(pd.DataFrame({'a': [1, 2, 2]}).groupby('a').size().max()),
    image.size == (2, 2), squares, sqlite3.connect(':memory:').execute('select 40 + 2').fetchone()[0],
    ssl.create_default_context().check_hostname, round(float(np.linalg.det(np.eye(50))), 6), json.loads('[1]'),
]`

// 24 LIBS: libraries with C code work in every one of many parallel runs.
// GEARBOX_LIB_RUNS sets how many, half of them with the libraries preloaded; a sample is
// taken by default.
func TestLibrariesOfAVirtualEnvironmentNeverFail(t *testing.T) {
	runs := 60
	if s := os.Getenv("GEARBOX_LIB_RUNS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("GEARBOX_LIB_RUNS=%q is no number of runs", s)
		}
		runs = n
	}
	for name, preload := range map[string][]string{"imported by the program": nil, "preloaded": {"--preload", "numpy,pandas,PIL.Image,sklearn.linear_model"}} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, append([]string{"--data-dir", cpythontest.DataDir(t), "--python", cpythontest.Libraries(t)}, preload...)...)
			sandboxed(t, c)
			together((runs+1)/2, 4, func(i int) {
				a := c.execute(t, call{Code: useLibraries, Timeout: 120})
				want{value: `[2, 2, true, [1, 2], 42, true, 1, [1]]`, valueType: "list"}.check(t, a)
				if t.Failed() {
					t.Logf("run %d: %.2000s", i, a.raw)
				}
			})
		})
	}
}

// 24 LIBS: an environment that the sandbox's own /tmp would hide is refused at
// once, and not package by package.
func TestAVirtualEnvironmentBelowTmpIsRefusedByItsPlace(t *testing.T) {
	sandboxed(t, connect(t, "--data-dir", cpythontest.DataDir(t)))
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), cpythontest.NewestPython(t), "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("skipped: no virtual environment: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary(t), "exec", "--data-dir", cpythontest.DataDir(t), "--python", dir, "-c", "1")
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "every sandbox has a /tmp of its own") || !strings.Contains(string(out), "somewhere else") {
		t.Errorf("%v: %s", err, out)
	}
}
