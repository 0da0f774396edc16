package cpython

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFirstStartUnpacksAndLaterStartsFindIt(t *testing.T) {
	config := Config{Dir: filepath.Join(t.TempDir(), "made", "by", "us")}
	first := ensure(t, config)
	config.Progress = func(s string) { t.Errorf("the second start did something slow: %s", s) }
	second := ensure(t, config)
	if first.Root != second.Root || first.Digest != second.Digest || first.Digest.IsZero() {
		t.Fatalf("first %+v, second %+v", first, second)
	}
	if got := python(t, first.Executable, "import platform; print(platform.python_version())"); got != first.Version {
		t.Fatalf("the interpreter says %s, the installation %s", got, first.Version)
	}
}

func TestEveryUidMayReadTheTreeAndNoOtherUserMayReachIt(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("setting a umask for one process needs a shell")
	}
	config := testConfig(t)
	narrow := child(t, "ensure", config.Dir)
	narrow.Path, narrow.Args = shell, []string{"sh", "-c", `umask 077; exec "$0"`, narrow.Path}
	must(t, narrow.Run())
	inst := ensure(t, config)
	err = walk(filepath.Dir(inst.Root), func(rel string, st fileState) error {
		if rel == "lease" {
			return nil
		}
		want := st.mode.IsDir() && st.mode.Perm() == 0o755 || st.mode.Type() == os.ModeSymlink ||
			st.mode.IsRegular() && (st.mode.Perm() == 0o444 || st.mode.Perm() == 0o555)
		if !want {
			t.Errorf("%s has mode %s", rel, st.mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := lstat(filepath.Dir(filepath.Dir(inst.Root)))
	if err != nil || st.mode.Perm() != 0o700 {
		t.Fatalf("the parent has mode %s, %v", st.mode, err)
	}
}

func TestATrimmedTreeMovedElsewhereStillHasTheStandardLibrary(t *testing.T) {
	inst := ensure(t, testConfig(t))
	entries, err := scan(t.Context(), inst.Root)
	if err != nil {
		t.Fatal(err)
	}
	moved := t.TempDir()
	for _, e := range entries {
		if err := copyEntry(e, inst.Root, moved); err != nil {
			t.Fatal(err)
		}
	}
	got := python(t, filepath.Join(moved, "bin", "python3"), `
import asyncio, bz2, compression.zstd, concurrent.interpreters, ctypes, curses, dbm.ndbm, decimal, lzma, multiprocessing
import readline, sqlite3, ssl, sys, sysconfig, venv, zlib, zoneinfo
sysconfig.get_config_vars()
print(sys.prefix)
`)
	if got != moved {
		t.Fatalf("the prefix is %s, want %s", got, moved)
	}
	if _, err := os.Stat(filepath.Join(moved, "lib", "python3.14", "LICENSE.txt")); err != nil {
		t.Errorf("the licence is gone: %v", err)
	}
}

func TestTwoProcessesAtOnceUnpackOnce(t *testing.T) {
	dir := t.TempDir()
	var outputs []*strings.Builder
	var commands []*exec.Cmd
	for range 2 {
		cmd, out := child(t, "ensure", dir), &strings.Builder{}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		commands, outputs = append(commands, cmd), append(outputs, out)
	}
	unpacked := 0
	for i, cmd := range commands {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		unpacked += strings.Count(outputs[i].String(), "unpacking")
		if !strings.Contains(outputs[i].String(), "root "+dir) {
			t.Errorf("process %d said %q", i, outputs[i])
		}
	}
	if unpacked != 1 || len(trees(t, dir)) != 1 {
		t.Fatalf("unpacked %d times, %d trees", unpacked, len(trees(t, dir)))
	}
}

func TestWaitingForAnotherProcessEndsWithTheContext(t *testing.T) {
	config := testConfig(t)
	s, err := openStore(config)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := s.lockTrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	config.Progress = func(string) { cancel() }
	if _, err := Ensure(ctx, config); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestAProcessKilledHalfWayLeavesNothingThatLasts(t *testing.T) {
	for _, role := range []string{"hang while unpacking", "hang when unpacked", "hang while compiling"} {
		t.Run(role, func(t *testing.T) {
			config := testConfig(t)
			if role == "hang while compiling" {
				ensure(t, config).Release()
			}
			killWhenHanging(t, role, config.Dir)
			if err := os.WriteFile(filepath.Join(config.Dir, "python", "manifest.json.next"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			inst := ensure(t, config)
			if got := python(t, inst.Executable, "print(6*7)"); got != "42" {
				t.Errorf("got %q", got)
			}
			if left := trees(t, config.Dir); len(left) != 1 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func killWhenHanging(t *testing.T, role, dir string) {
	t.Helper()
	cmd := child(t, role, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, buffer := "", make([]byte, 1024)
	for !strings.Contains(said, "hanging") {
		n, err := out.Read(buffer)
		if said += string(buffer[:n]); err != nil {
			t.Fatalf("the child said %q and ended: %v", said, err)
		}
	}
	if len(trees(t, dir)) == 0 {
		t.Error("the child had not begun")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func TestDirectoriesThatOthersControlAreRefused(t *testing.T) {
	cases := map[string]struct {
		spoil func(t *testing.T, dir string) (bad string)
		hint  string
	}{
		"data directory writable by others": {func(t *testing.T, dir string) string {
			return chmod(t, dir, 0o777)
		}, "chmod 700 "},
		"data directory writable by the group": {func(t *testing.T, dir string) string {
			return chmod(t, dir, 0o770)
		}, "chmod 700 "},
		"interpreter directory readable by others": {func(t *testing.T, dir string) string {
			return chmod(t, filepath.Join(dir, "python"), 0o755)
		}, "chmod 700 "},
		"parent writable by everybody": {func(t *testing.T, dir string) string {
			return chmod(t, filepath.Dir(dir), 0o777)
		}, "chmod o-w "},
		"another user's directory": {func(t *testing.T, dir string) string {
			if os.Geteuid() != 0 {
				t.Skip("giving a directory away needs root")
			}
			if err := os.Chown(dir, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "run as its owner"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.MkdirAll(filepath.Join(dir, "python"), 0o700); err != nil {
				t.Fatal(err)
			}
			bad := c.spoil(t, dir)
			_, err := Ensure(t.Context(), Config{Dir: dir})
			var refused *DirectoryError
			if !errors.As(err, &refused) || refused.Path != bad || !strings.HasPrefix(refused.Hint, c.hint) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAHelperEndsWithTheProcessThatStartedIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: elsewhere a helper ends by itself")
	}
	cmd := child(t, "hang in a helper", ensure(t, testConfig(t)).Executable)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); err != nil || line != "hanging\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The helper holds the other end: reading ends when it is gone.
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	_ = cmd.Wait()
}
