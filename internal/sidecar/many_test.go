//go:build linux

package sidecar_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// runsAtOnce is the concurrency of the test; the programs differ so that a mixed
// answer shows.
const runsAtOnce = 16

// manyRuns is a sample; GEARBOX_RUNS sets another number.
func manyRuns(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("GEARBOX_RUNS"))
	switch {
	case err == nil:
	case os.Getenv("GEARBOX_TEST_LONG") != "":
		n = 10_000
	case testing.Short():
		n = 100
	default:
		n = 1000
	}
	t.Logf("%d runs at concurrency %d; GEARBOX_RUNS sets another number", n, runsAtOnce)
	return n
}

func TestManyRunsAreNeitherLostNorMixedAndLeaveNothing(t *testing.T) {
	n := manyRuns(t)
	s := open(t, sidecar.Options{})
	run(t, s, execution.Request{Code: "1"}) // whatever stays open for the life of the server is open now
	before := footprint(t)
	var wg sync.WaitGroup
	var next, bad atomic.Int64
	for range runsAtOnce {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := oneOfMany(t, s, i); err != nil && bad.Add(1) <= 10 {
					t.Errorf("run %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	if bad.Load() > 0 {
		t.Fatalf("%d of %d runs went wrong", bad.Load(), n)
	}
	settled(t, before)
}

// oneOfMany runs one of several kinds of program and compares the whole answer.
func oneOfMany(t *testing.T, s *sidecar.Sidecar, i int64) error {
	req := execution.Request{Principal: execution.Local, Language: execution.Python}
	want := execution.Result{Status: execution.StatusOK}
	switch i % 4 {
	case 0:
		req.Code = fmt.Sprintf("print(%d)", i)
		want.Stdout = fmt.Sprintf("%d\n", i)
	case 1:
		req.Code = fmt.Sprintf("open('tmp.py', 'w').write('%d')\nprint(open('tmp.py').read(), end='')", i)
		want.Stdout = strconv.FormatInt(i, 10)
	case 2:
		req.Code = fmt.Sprintf("import sys\nsys.stderr.write('%d')\nsys.exit(3)", i)
		want.Status, want.ExitCode, want.Stderr = execution.StatusError, 3, strconv.FormatInt(i, 10)
	case 3:
		req.Code = fmt.Sprintf("print('%d' * 100_000)\n%d", i, i)
		want.Stdout = strings.Repeat(strconv.FormatInt(i, 10), 100_000) + "\n"
		want.Value = fmt.Appendf(nil, "%d", i)
	}
	id, err := s.Engine().Submit(t.Context(), req)
	if err != nil {
		return err
	}
	got, err := s.Engine().Wait(t.Context(), execution.Local, id, 10*time.Minute)
	switch {
	case err != nil:
		return err
	case got.OperationID != id || got.Status != want.Status || got.ExitCode != want.ExitCode:
		return fmt.Errorf("status %s, exit %d, stderr %q", got.Status, got.ExitCode, got.Stderr)
	case i%4 == 3 && int(got.Truncated["stdout"].TotalBytes) != len(want.Stdout) && got.Stdout != want.Stdout:
		return fmt.Errorf("%d bytes of stdout, %+v", len(got.Stdout), got.Truncated)
	case i%4 != 3 && (got.Stdout != want.Stdout || got.Stderr != want.Stderr):
		return fmt.Errorf("stdout %q, stderr %q", got.Stdout, got.Stderr)
	case string(got.Value) != string(want.Value):
		return fmt.Errorf("value %s", got.Value)
	}
	return nil
}

// counts is what may leak.
type counts struct{ goroutines, descriptors, processes, mounts int }

func footprint(t *testing.T) counts {
	t.Helper()
	return counts{
		goroutines: runtime.NumGoroutine(), descriptors: entries(t, "/proc/self/fd"),
		processes: descendants(t, os.Getpid()), mounts: strings.Count(read(t, "/proc/self/mountinfo"), "\n"),
	}
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// descendants counts the processes below one, by the kernel's own list of children.
func descendants(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0 // it has just ended
	}
	n := 0
	for _, task := range tasks {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for child := range strings.FieldsSeq(string(b)) {
			id, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			n += 1 + descendants(t, id)
		}
	}
	return n
}

// settled waits until nothing is left beyond what there was before; the test's
// own time limit ends a wait in vain.
func settled(t *testing.T, before counts) {
	t.Helper()
	deadline, _ := t.Deadline()
	for {
		now := footprint(t)
		if now.goroutines <= before.goroutines && now.descriptors <= before.descriptors &&
			now.processes <= before.processes && now.mounts <= before.mounts {
			return
		}
		if !deadline.IsZero() && time.Until(deadline) < time.Minute {
			t.Fatalf("before %+v, after %+v", before, now)
		}
		runtime.Gosched()
	}
}
