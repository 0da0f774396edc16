//go:build linux

package approvals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds the waits for what has to come: it is no measure of speed, and long
// for machines that are busy with other things.
const patience = 2 * time.Minute

// long reports whether the long forms are wanted.
func long() bool { return os.Getenv("GEARBOX_TEST_LONG") != "" }

// world is what all tests of this process share.
type world struct {
	dir string // for the binary and the directory that others are copied from

	build, warm sync.Once
	err         error
}

var shared world

func TestMain(m *testing.M) { os.Exit(shared.run(m)) }

func (w *world) run(m *testing.M) int {
	if os.Getenv(deciderEnv) != "" {
		return decider()
	}
	var err error
	if w.dir, err = os.MkdirTemp("", "gearbox-approvals-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(w.dir) }()
	return m.Run()
}

// gearbox is the path of the real binary, built from what the tests were built from.
func gearbox(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(shared.dir, "gearbox")
	shared.build.Do(func() {
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-o", binary, "../../cmd/gearbox").CombinedOutput()
		if err != nil {
			shared.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return binary
}

// dataDir is a data directory of the test's own in which the interpreter is ready. It
// skips the test where there is no sandbox.
func dataDir(t testing.TB) string {
	t.Helper()
	binary, warm := gearbox(t), filepath.Join(shared.dir, "warm")
	shared.warm.Do(func() {
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "exec", "--data-dir", warm, "-c", "1").CombinedOutput()
		if err != nil {
			shared.err = fmt.Errorf("run a program: %w\n%s", err, out)
		}
	})
	if shared.err != nil {
		if strings.Contains(shared.err.Error(), "no sandbox can be built here") {
			t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
		}
		t.Fatal(shared.err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	copyDir(t, warm, dir)
	records, err := filepath.Glob(filepath.Join(dir, "records.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range records {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", from, err, out)
	}
}

// environment is that of every server here.
func environment(more ...string) []string {
	return append([]string{"PATH=/usr/bin:/bin", "HOME=" + os.TempDir(), "LANG=C.UTF-8"}, more...)
}

// command runs gearbox to its end.
func command(t testing.TB, args ...string) (stdout string, exit int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	c := exec.CommandContext(ctx, gearbox(t), args...)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr, c.Env = &out, &errOut, environment()
	err := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("gearbox %s: %v %v\n%s", strings.Join(args, " "), err, ctx.Err(), &errOut)
	}
	return out.String() + errOut.String(), c.ProcessState.ExitCode()
}

// write makes or replaces a file of a data directory.
func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// eventually asks until there is nothing to object to.
func eventually(t testing.TB, what string, objection func() string) {
	t.Helper()
	limit, again := time.NewTimer(patience), time.NewTicker(20*time.Millisecond)
	defer limit.Stop()
	defer again.Stop()
	for {
		why := objection()
		if why == "" {
			return
		}
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatalf("%s: still after %v: %s", what, patience, why)
		}
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
