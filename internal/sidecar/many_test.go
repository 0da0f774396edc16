//go:build linux

package sidecar_test

import (
	"cmp"
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
		n = 20_000
	case testing.Short():
		n = 100
	default:
		n = 2000
	}
	t.Logf("%d runs at concurrency %d; GEARBOX_RUNS sets another number", n, runsAtOnce)
	return n
}

func TestManyRunsAreNeitherLostNorMixedAndLeaveNothing(t *testing.T) {
	n := manyRuns(t)
	s := open(t, sidecar.Options{})
	before := atRest(t, s)
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

// kind is a program and how it ends, for the number i.
type kind struct {
	language execution.Language
	code     func(i int64) string
	want     func(i int64) execution.Result
}

func printf(format string) func(int64) string {
	return func(i int64) string { return strings.ReplaceAll(format, "%d", strconv.FormatInt(i, 10)) }
}

func ends(status execution.Status, exit int, stdout string) func(int64) execution.Result {
	return func(i int64) execution.Result {
		return execution.Result{Status: status, ExitCode: exit, Stdout: printf(stdout)(i)}
	}
}

// kinds end in every way that a program can end by itself or be ended for what it is.
var kinds = []kind{
	{code: printf("print(%d)"), want: ends(execution.StatusOK, 0, "%d\n")},
	{
		code: printf("open('tmp.py', 'w').write('%d')\nprint(open('tmp.py').read(), end='')"),
		want: ends(execution.StatusOK, 0, "%d"),
	},
	{code: printf("import sys\nprint(%d)\nsys.exit(3)"), want: ends(execution.StatusError, 3, "%d\n")},
	{code: printf("print('%d' * 100_000)"), want: func(i int64) execution.Result {
		return execution.Result{Status: execution.StatusOK, Stdout: strings.Repeat(strconv.FormatInt(i, 10), 100_000) + "\n"}
	}},
	{code: printf("print(%d)\n1 / 0"), want: ends(execution.StatusError, 1, "%d\n")},
	{code: printf("print(%d"), want: ends(execution.StatusError, 1, "")},
	{code: printf("import os\nprint(%d)\nos._exit(7)"), want: ends(execution.StatusError, 7, "%d\n")},
	{code: printf("import os\nprint(%d)\nos.kill(os.getpid(), 9)"), want: ends(execution.StatusError, 137, "%d\n")},
	{
		code: printf("import os, time\nif os.fork() == 0:\n    time.sleep(600)\nprint(%d)"),
		want: ends(execution.StatusOK, 0, "%d\n"),
	},
	{
		code: printf("import threading, time\nt = threading.Thread(target=time.sleep, args=(600,), daemon=True)\nt.start()\nprint(%d)"),
		want: ends(execution.StatusOK, 0, "%d\n"),
	},
	{language: execution.Bash, code: printf("sleep 600 & echo %d; exit 4"), want: ends(execution.StatusError, 4, "%d\n")},
	{code: printf("open('/etc/hostname').read()\nprint(%d)"), want: ends(execution.StatusDenied, -1, "")},
}

// oneOfMany runs one of several kinds of program and compares the whole answer.
func oneOfMany(t *testing.T, s *sidecar.Sidecar, i int64) error {
	k := kinds[i%int64(len(kinds))]
	req := execution.Request{
		Principal: execution.Local, Language: cmp.Or(k.language, execution.Python), Code: k.code(i),
	}
	want := k.want(i)
	id, err := s.Engine().Submit(t.Context(), req)
	if err != nil {
		return err
	}
	got, err := s.Engine().Wait(t.Context(), execution.Local, id, 10*time.Minute)
	switch {
	case err != nil:
		return err
	case got.OperationID != id || got.Status != want.Status || got.ExitCode != want.ExitCode:
		return fmt.Errorf("%q: status %s, exit %d, stderr %q", req.Code, got.Status, got.ExitCode, got.Stderr)
	case len(got.Truncated) > 0:
		if n := int(got.Truncated["stdout"].TotalBytes); n != len(want.Stdout) || !strings.HasPrefix(want.Stdout, got.Stdout[:100]) {
			return fmt.Errorf("%q: %d bytes of stdout, %+v", req.Code, len(got.Stdout), got.Truncated)
		}
	case got.Stdout != want.Stdout:
		return fmt.Errorf("%q: stdout %q", req.Code, got.Stdout)
	}
	return nil
}

// counts is what may leak.
type counts struct{ goroutines, descriptors, processes, mounts int }

// atRest is the footprint of a server that has run something, whose children are all
// parked and warm again: whatever stays open for its life is open now.
func atRest(t *testing.T, s *sidecar.Sidecar) counts {
	t.Helper()
	run(t, s, execution.Request{Code: "1"})
	for {
		now := s.Boxed()
		if used := now.Templates[0]; now.Live == 0 && used.Parked == used.Target && used.Warm == used.Target {
			return footprint(t)
		}
		runtime.Gosched()
	}
}

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
