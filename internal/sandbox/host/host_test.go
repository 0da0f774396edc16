//go:build unix

package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/host"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

func TestHostPassesTheSuite(t *testing.T) { testSuite(t, false) }

func TestHostPassesTheSuiteOverPlainPipes(t *testing.T) { testSuite(t, true) }

func testSuite(t *testing.T, pipes bool) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, host.Config{Interpreters: python(t), Dir: dir, Pipes: pipes})
	sandboxtest.Run(t, sandboxtest.Config{Backend: b, Template: template(t)})
}

func TestWorkspaceIsGoneWhenWaitReturns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := open(t, newBackend(t, host.Config{Interpreters: python(t), Dir: dir}))
	out := drive(t, source, sandboxtest.Program{
		Code: "import os\nopen('kept.txt', 'w').write('x')\nos.mkdir('sub')\nos.chmod('sub', 0)\nos.getcwd()",
	})
	if out.Result == nil || !strings.Contains(string(out.Result.Value), filepath.Base(dir)) {
		t.Fatalf("the program ran elsewhere: %+v", out)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "workspace-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

func TestProgramHasTheServersEnvironment(t *testing.T) {
	t.Setenv("GEARBOX_TEST_GREETING", "héllo")
	source := open(t, newBackend(t, host.Config{Interpreters: python(t), Dir: t.TempDir()}))
	out := drive(t, source, sandboxtest.Program{Code: "import os\nos.environ['GEARBOX_TEST_GREETING']"})
	if out.Result == nil || string(out.Result.Value) != `"héllo"` {
		t.Errorf("outcome %+v", out)
	}
}

func TestUsageIsThatOfTheProgram(t *testing.T) {
	t.Parallel()
	source := open(t, newBackend(t, host.Config{Interpreters: python(t), Dir: t.TempDir()}))
	out := drive(t, source, sandboxtest.Program{Code: "x = bytearray(b'1') * (200 << 20)\nlen(x)"})
	if peak := out.Ended.Usage.MemoryPeak; peak < 200*execution.MiB || peak > 400*execution.MiB {
		t.Errorf("memory peak %s", peak)
	}
	if out.Ended.Usage.CPU <= 0 {
		t.Errorf("no CPU time")
	}
}

func TestStoppedKeeperIsKilled(t *testing.T) {
	t.Parallel()
	b := newBackend(t, host.Config{Interpreters: python(t), Dir: t.TempDir()})
	b.SetKeeperTime(time.Millisecond)
	out := drive(t, open(t, b), sandboxtest.Program{Code: "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n1"})
	if out.Result == nil || out.Ended.Cause != sandbox.CauseFinished {
		t.Errorf("outcome %+v", out)
	}
}

func TestInterpreterThatCannotRunIsReportedWithItsOwnWords(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no such luck >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := newBackend(t, host.Config{Interpreters: only(sandbox.Interpreter{Executable: script}), Dir: t.TempDir()})
	if r := b.Probe(t.Context()); r.Available() || len(r.Checks) != 1 || r.Checks[0].OK || r.Checks[0].Hint == "" {
		t.Errorf("report %+v", r)
	}
	source, err := b.Open(t.Context(), sandbox.Template{Language: execution.Python})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Start(t.Context(), false); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("error %v", err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatItCannotServeIsRefused(t *testing.T) {
	t.Parallel()
	unknown := errors.New("no such interpreter")
	b := newBackend(t, host.Config{Dir: t.TempDir(), Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) {
		return sandbox.Interpreter{}, unknown
	}})
	if _, err := b.Open(t.Context(), sandbox.Template{Language: "ruby"}); err == nil {
		t.Error("ruby was accepted")
	}
	if _, err := b.Open(t.Context(), sandbox.Template{Language: execution.Python}); !errors.Is(err, unknown) {
		t.Errorf("error %v", err)
	}
	if r := b.Probe(t.Context()); r.Available() {
		t.Errorf("report %+v", r)
	}
}

func newBackend(t *testing.T, c host.Config) *host.Backend {
	t.Helper()
	dir := c.Dir
	t.Cleanup(func() { assertEmpty(t, dir) })
	return host.New(c)
}

// python finds the interpreter of tests; only finds always the same.
func python(t *testing.T) func(context.Context, execution.Digest) (sandbox.Interpreter, error) {
	t.Helper()
	return only(sandboxtest.Interpreter(t))
}

func only(i sandbox.Interpreter) func(context.Context, execution.Digest) (sandbox.Interpreter, error) {
	return func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return i, nil }
}

func template(t *testing.T) sandbox.Template {
	t.Helper()
	return sandbox.Template{Interpreter: sandboxtest.Interpreter(t).Digest, Language: execution.Python}
}

func open(t *testing.T, b *host.Backend) sandbox.Source {
	t.Helper()
	source, err := b.Open(t.Context(), template(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	})
	return source
}

func drive(t *testing.T, source sandbox.Source, p sandboxtest.Program) sandboxtest.Outcome {
	t.Helper()
	child, err := source.Start(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	out, err := sandboxtest.Drive(t.Context(), child, p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}
