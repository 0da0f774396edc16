// Package cpythontest gives tests of other packages the embedded interpreter
// without unpacking it each time.
package cpythontest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython"
)

// Interpreter returns the embedded interpreter, byte-compiled, from a directory in
// the user's cache that all tests of this machine share. The first call on a
// machine takes some seconds. A tampered copy is replaced.
func Interpreter(tb testing.TB) cpython.Installation {
	tb.Helper()
	config := cpython.Config{Dir: directory(tb), Progress: func(s string) { tb.Log(s) }}
	first, err := cpython.Ensure(tb.Context(), config)
	if err != nil {
		if first, err = cpython.Repair(tb.Context(), config); err != nil {
			tb.Fatalf("no interpreter: %v", err)
		}
	}
	if first.Compiled {
		return first
	}
	compiled, err := cpython.Compile(tb.Context(), config)
	if err != nil {
		tb.Fatalf("no compiled interpreter: %v", err)
	}
	first.Release()
	return compiled
}

// DataDir is a data directory in which the interpreter of [Interpreter] lies ready.
func DataDir(tb testing.TB) string {
	tb.Helper()
	Interpreter(tb).Release()
	return directory(tb)
}

func directory(tb testing.TB) string {
	tb.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Skipf("no cache directory for the interpreter: %v", err)
	}
	return filepath.Join(cache, "gearbox-test")
}
