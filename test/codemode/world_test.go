//go:build linux

package codemode

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// patience bounds the waits for what has to come: it is no measure of speed, and long for
// machines that are busy with other things.
const patience = 90 * time.Second

// world is what all tests of this process share.
type world struct {
	dir string // for the binary, and the directory of an unpacked interpreter

	build, warm sync.Once
	err         error
}

var shared world

func TestMain(m *testing.M) { os.Exit(shared.run(m)) }

func (w *world) run(m *testing.M) int {
	if script := os.Getenv(peerEnv); script != "" {
		return peerMain(script)
	}
	var err error
	if w.dir, err = os.MkdirTemp("", "gearbox-codemode-"); err != nil {
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

// dataDir is a data directory of the test's own in which the interpreter is ready. It skips
// the test where there is no sandbox.
func dataDir(t testing.TB) string {
	t.Helper()
	binary, warm := gearbox(t), filepath.Join(shared.dir, "warm")
	shared.warm.Do(func() {
		c := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "exec", "--data-dir", warm, "-c", "1")
		c.Env = environment()
		if out, err := c.CombinedOutput(); err != nil {
			shared.err = fmt.Errorf("run a program: %w\n%s", err, out)
		}
		for _, name := range []string{"records.db", "records.db-wal", "records.db-shm"} {
			_ = os.Remove(filepath.Join(warm, name)) // there may be none
		}
	})
	if shared.err != nil {
		if strings.Contains(shared.err.Error(), "no sandbox") {
			t.Skip("skipped: no sandbox on this machine: gearbox doctor says why")
		}
		t.Fatal(shared.err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if out, err := exec.CommandContext(t.Context(), "cp", "-al", warm, dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the data directory: %v\n%s", err, out)
	}
	return dir
}

// environment is that of every process here.
func environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "LANG=C.UTF-8"}, more...)
}

// command runs gearbox to its end.
func command(t testing.TB, env []string, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, gearbox(t), args...)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr, c.Env = &out, &errOut, environment(env...)
	err := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("gearbox %s: %v %v\n%s", strings.Join(args, " "), err, ctx.Err(), &errOut)
	}
	return out.String(), errOut.String(), c.ProcessState.ExitCode()
}

// installed is a folder that test/clients/setup.sh installs, or skips the test.
func installed(t testing.TB, what, kind string, locks ...string) string {
	t.Helper()
	h := sha256.New()
	for _, lock := range locks {
		h.Write(read(t, lock))
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", ".cache", "clients", kind+"-"+hex.EncodeToString(h.Sum(nil))[:16]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		t.Skipf("codemode: %s not installed (run test/clients/setup.sh)", what)
	}
	return dir
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
