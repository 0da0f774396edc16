//go:build linux

package peers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
)

// libraries are what an operator's virtual environment holds. They are pinned,
// so that a failure is the sandbox's.
const libraries = "numpy==2.5.5\npandas==3.1.1\nscikit-learn==1.9.1\nPillow==13.0.0\n"

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
// GEARBOX_LIB_RUNS sets how many; a sample is taken by default.
func TestLibrariesOfAVirtualEnvironmentNeverFail(t *testing.T) {
	runs := 60
	if s := os.Getenv("GEARBOX_LIB_RUNS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("GEARBOX_LIB_RUNS=%q is no number of runs", s)
		}
		runs = n
	}
	c := connect(t, "--data-dir", cpythontest.DataDir(t), "--python", virtualEnvironment(t))
	sandboxed(t, c)
	together(runs, 4, func(i int) {
		a := c.execute(t, call{Code: useLibraries, Timeout: 120})
		want{value: `[2, 2, true, [1, 2], 42, true, 1, [1]]`, valueType: "list"}.check(t, a)
		if t.Failed() {
			t.Logf("run %d: %.2000s", i, a.raw)
		}
	})
}

// virtualEnvironment is made once for all test runs on a machine, in a folder
// named by what is in it.
func virtualEnvironment(t *testing.T) string {
	t.Helper()
	python := newestPython(t)
	version, err := exec.CommandContext(t.Context(), python, "-VV").Output()
	if err != nil {
		t.Skipf("skipped: %s does not run: %v", python, err)
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", python, version, libraries))
	cache, err := filepath.Abs("../../.cache")
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(cache, "/tmp/") {
		t.Skipf("skipped: %s lies in /tmp, and every sandbox has a /tmp of its own: check the project out elsewhere", cache)
	}
	dir := filepath.Join(cache, "libraries-"+hex.EncodeToString(key[:8]))
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir
	}
	requirements := filepath.Join(t.TempDir(), "requirements.txt")
	if err := os.WriteFile(requirements, []byte(libraries), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{python, "-m", "venv", "--clear", dir},
		{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "-r", requirements},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("skipped: no virtual environment with libraries: %v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newestPython looks where interpreters of the machine usually lie.
func newestPython(t *testing.T) string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/usr/bin/python3", "/usr/local/bin/python3", "~/.pyenv/versions/*/bin/python3"} {
		if rest, ok := strings.CutPrefix(pattern, "~"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			pattern = home + rest
		}
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	versions := map[string]string{}
	for _, p := range found {
		// The libraries need 3.12; ensurepip is what a bare interpreter lacks.
		out, err := exec.CommandContext(t.Context(), p, "-c", "import sys, venv, ensurepip; print('%03d.%03d' % sys.version_info[:2])").Output()
		if v := string(bytes.TrimSpace(out)); err == nil && v >= "003.012" {
			versions[p] = v
		}
	}
	if len(versions) == 0 {
		t.Skipf("skipped: no CPython of 3.12 or newer with venv among %v", found)
	}
	sort.Slice(found, func(i, j int) bool { return versions[found[i]] > versions[found[j]] })
	return found[0]
}

// 24 LIBS: an environment that the sandbox's own /tmp would hide is refused at
// once, and not package by package.
func TestAVirtualEnvironmentBelowTmpIsRefusedByItsPlace(t *testing.T) {
	sandboxed(t, connect(t, "--data-dir", cpythontest.DataDir(t)))
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), newestPython(t), "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("skipped: no virtual environment: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary(t), "exec", "--data-dir", cpythontest.DataDir(t), "--python", dir, "-c", "1")
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "every sandbox has a /tmp of its own") || !strings.Contains(string(out), "somewhere else") {
		t.Errorf("%v: %s", err, out)
	}
}
