package cpython

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// childVariable makes the test binary behave as another process of the product.
const childVariable = "CPYTHON_TEST_CHILD"

func TestMain(m *testing.M) {
	if role, dir, ok := strings.Cut(os.Getenv(childVariable), ":"); ok {
		childMain(role, dir)
		return
	}
	m.Run()
	if dir, err := unpackOnce(); err == nil {
		_ = os.RemoveAll(dir)
	}
}

// childMain unpacks or compiles below dir and, in the roles that hang, says so and
// waits to be killed.
func childMain(role, dir string) {
	config := Config{Dir: dir, Progress: func(s string) { fmt.Fprintln(os.Stdout, s) }}
	hang := func() {
		fmt.Fprintln(os.Stdout, "hanging")
		select {}
	}
	run := Ensure
	switch role {
	case "hang in a helper":
		// The program holds standard output, by which its end is seen.
		c := call{executable: dir, inherit: []*os.File{os.Stdout}}
		_, err := c.command(context.Background(), []string{"-I", "-c", "import os, time; os.write(3, b'hanging\\n'); time.sleep(600)"})
		panic(err)
	case "ensure":
	case "hang while unpacking":
		config.extract = func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "half"), make([]byte, 1<<20), 0o644); err != nil {
				return err
			}
			hang()
			return nil
		}
	case "hang when unpacked":
		config.extract = func(dir string) error {
			if err := extractEmbedded(dir); err != nil {
				return err
			}
			hang()
			return nil
		}
	case "hang while compiling":
		run = Compile
		config.Progress = func(s string) {
			if strings.HasPrefix(s, "byte-compiling") {
				hang()
			}
		}
	}
	inst, err := run(context.Background(), config)
	if err != nil {
		panic(err) // ends the process with a code and a reason
	}
	fmt.Fprintln(os.Stdout, "root", inst.Root)
}

func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+role+":"+dir)
	cmd.Stderr = t.Output()
	return cmd
}

// unpackOnce unpacks the embedded data once for all tests of this run.
var unpackOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cpython-test-")
	if err != nil {
		return "", err
	}
	return dir, extractEmbedded(dir)
})

// testConfig keeps an interpreter in a fresh data directory, copied from what was
// unpacked once, and does not wait for the disk.
func testConfig(t *testing.T) Config {
	t.Helper()
	return Config{
		Dir:  t.TempDir(),
		sync: func(context.Context, string) error { return nil },
		extract: func(dir string) error {
			source, err := unpackOnce()
			if err != nil {
				return err
			}
			return copyMissing(source, dir)
		},
	}
}

// copyMissing leaves alone what is there, as the module does.
func copyMissing(from, to string) error {
	return walk(from, func(rel string, st fileState) error {
		err := copyEntry(entry{Path: rel, Mode: st.mode}, from, to)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
}

func ensure(t *testing.T, c Config) Installation {
	t.Helper()
	inst, err := Ensure(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inst.Release)
	return inst
}

func compiled(t *testing.T, c Config) Installation {
	t.Helper()
	inst, err := Compile(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inst.Release)
	return inst
}

// python runs a program and returns what it printed.
func python(t *testing.T, executable, code string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), executable, append([]string{"-I", "-c", code}, args...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", executable, err)
	}
	return strings.TrimSpace(string(out))
}

// trees lists the trees of a data directory.
func trees(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "python", treePrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
