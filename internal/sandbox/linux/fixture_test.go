//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/leveltest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	MaybeInit()
	leveltest.MaybeShim()
	os.Exit(m.Run())
}

// interpreterVariable hands the interpreter to the copy of the tests that runs as
// an ordinary user.
const interpreterVariable = "GEARBOX_TEST_INTERPRETER"

// patience turns a hang into a failure; it is no claim about speed.
const patience = time.Minute

func interpreter(t testing.TB) sandbox.Interpreter {
	t.Helper()
	if text := os.Getenv(interpreterVariable); text != "" {
		var in sandbox.Interpreter
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			t.Fatal(err)
		}
		return in
	}
	i := cpythontest.Interpreter(t)
	t.Cleanup(i.Release)
	return sandbox.Interpreter{Digest: i.Digest, Version: i.Version, Embedded: i.Embedded, Executable: i.Executable, Root: i.Root}
}

// backend returns one with the interpreter of the tests, or skips where the kernel
// does not let a sandbox be built.
func backend(t testing.TB, guestFiles fs.FS) *Backend {
	t.Helper()
	in := interpreter(t)
	b := New(Config{
		Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return in, nil },
		Guest:        guestFiles,
	})
	p := prober{backend: b, facts: readFacts()}
	if !p.namespaces(t.Context()) {
		t.Skipf("no sandbox can be built here: %+v", p.report.Checks)
	}
	return b
}

func open(t testing.TB, shape sandbox.Shape) *source {
	t.Helper()
	return openWith(t, backend(t, nil), shape)
}

func openWith(t testing.TB, b *Backend, shape sandbox.Shape) *source {
	t.Helper()
	s, err := b.Open(t.Context(), template(shape))
	var step *StepError
	if errors.As(err, &step) && step.Step == stepProc && step.Errno == unix.EPERM {
		t.Skipf("no sandbox can be built here: /proc is masked: %v", err)
	}
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.(*source)
}

func template(shape sandbox.Shape) sandbox.Template {
	return sandbox.Template{Language: execution.Python, Shape: shape}
}

func start(t testing.TB, s sandbox.Source) *child {
	t.Helper()
	c, err := s.Start(bounded(t), false)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { c.Kill(sandbox.CauseAbandoned) })
	return c.(*child)
}

// run drives code through a fresh child.
func run(t testing.TB, s sandbox.Source, code string) sandboxtest.Outcome {
	t.Helper()
	return drive(t, s, sandboxtest.Program{Code: code})
}

func drive(t testing.TB, s sandbox.Source, p sandboxtest.Program) sandboxtest.Outcome {
	t.Helper()
	out, err := sandboxtest.Drive(bounded(t), start(t, s), p)
	if err != nil {
		t.Fatalf("drive: %v", err)
	}
	return out
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
