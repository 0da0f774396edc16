//go:build linux

package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// family are the processes that these tests have started. The test process adopts what
// they leave behind when they die (prctl(2), PR_SET_CHILD_SUBREAPER), so that an orphan
// is a child of this process that is none of the family.
type family struct {
	mu    sync.Mutex // guards known, and is held while one is started
	known map[int]bool
}

// start starts a process as one of the family.
func (f *family) start(c *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := c.Start(); err != nil {
		return err
	}
	f.known[c.Process.Pid] = true
	return nil
}

// wait waits for one of the family and forgets it.
func (f *family) wait(c *exec.Cmd) error {
	err := c.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, c.Process.Pid)
	return err
}

// strays are the processes that the family has left behind and that still live. What
// has ended is buried.
func (f *family) strays(t *testing.T) []string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var left []string
	for _, p := range processes(t) {
		if p.parent != os.Getpid() || f.known[p.pid] {
			continue
		}
		if p.state == "Z" {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil) // it may be buried already
			continue
		}
		left = append(left, fmt.Sprintf("%d %s (%s)", p.pid, p.name, p.state))
	}
	return left
}

// process is one line of /proc.
type process struct {
	pid, parent int
	name, state string
}

func processes(t *testing.T) []process {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no processes are to be seen in /proc: %v", err)
	}
	var all []process
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		fields := strings.Fields(string(text[end+1:]))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:open])))
		parent, _ := strconv.Atoi(fields[1])
		all = append(all, process{pid, parent, string(text[open+1 : end]), fields[0]})
	}
	return all
}

// below counts the living processes that descend from one.
func below(t *testing.T, root int) int {
	t.Helper()
	all, n := processes(t), 0
	for line := []int{root}; len(line) > 0; line = line[1:] {
		for _, p := range all {
			if p.parent == line[0] && p.state != "Z" {
				line = append(line, p.pid)
				n++
			}
		}
	}
	return n
}

// patience bounds the waits for what has to come: it is no measure of speed, and long
// for machines that are busy with other things.
const patience = 2 * time.Minute

// eventually asks until there is nothing to object to.
func eventually(t *testing.T, what string, objection func() string) {
	t.Helper()
	limit, again := time.NewTimer(patience), time.NewTicker(50*time.Millisecond)
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

// world is what all tests of this process share.
type world struct {
	family
	dir string // for the binary and the directory that others are copied from

	build, warm sync.Once
	err         error
}

var shared = &world{family: family{known: map[int]bool{}}}

func TestMain(m *testing.M) {
	os.Exit(shared.run(m))
}

func (w *world) run(m *testing.M) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if w.dir = os.Getenv(insideEnv); w.dir != "" {
		return m.Run() // within a namespace: what is needed was made outside
	}
	var err error
	if w.dir, err = os.MkdirTemp("", "gearbox-crash-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(w.dir) }()
	if err := os.Chmod(w.dir, 0o755); err != nil { //nolint:gosec // other users run the binary in it
		panic(err)
	}
	return m.Run()
}

func (w *world) binary() string { return filepath.Join(w.dir, "gearbox") }

// gearbox is the path of the real binary, built from what the tests were built from.
func gearbox(t *testing.T) string {
	t.Helper()
	shared.build.Do(func() {
		if _, err := os.Stat(shared.binary()); err == nil {
			return
		}
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-o", shared.binary(), "../../cmd/gearbox").CombinedOutput()
		if err != nil {
			shared.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.binary()
}

// dataDir is a data directory of the test's own in which the interpreter is ready. It
// skips the test where there is no sandbox.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	fill(t, dir)
	return dir
}

// fill makes such a directory.
func fill(t *testing.T, dir string) {
	t.Helper()
	binary, warm := gearbox(t), filepath.Join(shared.dir, "warm")
	shared.warm.Do(func() {
		if _, err := os.Stat(warm); err == nil {
			return
		}
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
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", warm, dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the data directory: %v\n%s", err, out)
	}
	records, err := filepath.Glob(filepath.Join(dir, "records.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range records {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// environment is that of every process here.
func environment() []string {
	return []string{"PATH=/usr/bin:/bin", "HOME=" + os.TempDir(), "LANG=C.UTF-8"}
}

// command runs gearbox to its end. It may be called by many goroutines; when gearbox
// cannot be run the test has failed and the exit code is -1.
func command(t *testing.T, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	c := exec.CommandContext(ctx, gearbox(t), args...)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr, c.Env = &out, &errOut, environment()
	err := shared.start(c)
	if err == nil {
		err = shared.wait(c)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Errorf("gearbox %s: %v %v", strings.Join(args, " "), err, ctx.Err())
		return "", "", -1
	}
	return out.String(), errOut.String(), c.ProcessState.ExitCode()
}

// report tells what a test has measured, in the log of the test and, if there is to be
// one, in the report of the long forms.
func report(t *testing.T, file, title, text string) {
	t.Helper()
	t.Logf("%s\n%s", title, text)
	dir := os.Getenv("GEARBOX_TEST_FIGURES")
	if dir == "" {
		return
	}
	markdown := fmt.Sprintf("\n## %s\n\n```text\n%s```\n", title, text)
	if err := os.WriteFile(filepath.Join(dir, file+".md"), []byte(markdown), 0o600); err != nil {
		t.Error(err)
	}
}

// long reports whether the long forms are wanted.
func long() bool { return os.Getenv("GEARBOX_TEST_LONG") != "" }

func sorted[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestWhatAProcessLeavesBehindIsFound(t *testing.T) {
	c := exec.CommandContext(t.Context(), "sh", "-c", "sleep 600 >/dev/null & echo $!")
	var out bytes.Buffer
	c.Stdout = &out
	if err := shared.start(c); err != nil {
		t.Fatal(err)
	}
	if err := shared.wait(c); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if left := shared.strays(t); len(left) != 1 || !strings.HasPrefix(left[0], strconv.Itoa(pid)+" ") {
		t.Errorf("%d is left, and found was %v", pid, left)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has to end", func() string { return strings.Join(shared.strays(t), ", ") })
}
