package cpythontest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// requirements are what the environment of [Libraries] holds. They are pinned, so that a
// failure is the sandbox's.
const requirements = "numpy==2.5.5\npandas==3.1.1\nscikit-learn==1.9.1\nPillow==13.0.0\n"

// Environment is an operator's virtual environment of the newest interpreter of this
// machine, with modules in it: sources by file name. It is removed with the test, which is
// skipped by name where none can be made.
func Environment(tb testing.TB, modules map[string]string) string {
	tb.Helper()
	// Not below /tmp, where every sandbox has a place of its own.
	base := directory(tb)
	if err := os.MkdirAll(base, 0o700); err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "environment-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // the sandbox's user reads it
		tb.Fatal(err)
	}
	if out, err := exec.CommandContext(tb.Context(), newest(tb, "003.010", "venv"), "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		tb.Skipf("skipped: no virtual environment: %v\n%s", err, out)
	}
	site, err := filepath.Glob(filepath.Join(dir, "lib", "python3.*", "site-packages"))
	if err != nil || len(site) != 1 {
		tb.Fatalf("site-packages of %s: %v, %v", dir, site, err)
	}
	for name, source := range modules {
		if err := os.WriteFile(filepath.Join(site[0], name), []byte(source), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// Libraries is a virtual environment with numpy, pandas and others. It is made once for
// all test runs of a checkout, in a folder named by what is in it; a test is skipped by
// name where it cannot be made.
func Libraries(tb testing.TB) string {
	tb.Helper()
	python := NewestPython(tb)
	version, err := exec.CommandContext(tb.Context(), python, "-VV").Output()
	if err != nil {
		tb.Skipf("skipped: %s does not run: %v", python, err)
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", python, version, requirements))
	cache := filepath.Join(checkout(tb), ".cache")
	if strings.HasPrefix(cache, "/tmp/") {
		tb.Skipf("skipped: %s lies in /tmp, and every sandbox has a /tmp of its own: check the project out elsewhere", cache)
	}
	dir := filepath.Join(cache, "libraries-"+hex.EncodeToString(key[:8]))
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir
	}
	list := filepath.Join(tb.TempDir(), "requirements.txt")
	if err := os.WriteFile(list, []byte(requirements), 0o600); err != nil {
		tb.Fatal(err)
	}
	for _, args := range [][]string{
		{python, "-m", "venv", "--clear", dir},
		{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "-r", list},
	} {
		if out, err := exec.CommandContext(tb.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			tb.Skipf("skipped: no virtual environment with libraries: %v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// checkout is the folder of go.mod above the test.
func checkout(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
	}
}

// NewestPython is an interpreter of this machine with all that makes virtual environments,
// new enough for [Libraries].
func NewestPython(tb testing.TB) string {
	tb.Helper()
	return newest(tb, "003.012", "venv, ensurepip") // ensurepip is what a bare interpreter lacks
}

// newest looks where interpreters usually lie, and skips by name where none is of a version
// and has the modules.
func newest(tb testing.TB, least, modules string) string {
	tb.Helper()
	patterns := []string{"/usr/bin/python3", "/usr/local/bin/python3"}
	if home, err := os.UserHomeDir(); err == nil {
		patterns = append(patterns, filepath.Join(home, ".pyenv/versions/*/bin/python3"))
	}
	var found, version string
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range paths {
			out, err := exec.CommandContext(tb.Context(), p, "-c", "import sys, "+modules+"; print('%03d.%03d' % sys.version_info[:2])").Output()
			if v := string(bytes.TrimSpace(out)); err == nil && v >= least && v > version {
				found, version = p, v
			}
		}
	}
	if found == "" {
		tb.Skipf("skipped: no CPython of %s or newer with %s among %v", least, modules, patterns)
	}
	return found
}
