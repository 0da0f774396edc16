//go:build linux && (amd64 || arm64)

package linux

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// holdings is what could leak.
type holdings struct {
	descriptors, processes, mounts, goroutines int
}

func count(t *testing.T) holdings {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return holdings{
		descriptors: len(fds), processes: descendants(t),
		mounts: strings.Count(string(mounts), "\n"), goroutines: runtime.NumGoroutine(),
	}
}

// descendants counts the processes below this one.
func descendants(t *testing.T) int {
	t.Helper()
	n := 0
	for _, dir := range []string{strconv.Itoa(os.Getpid())} {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		n += len(tree(pid, pid)) - 1
	}
	return n
}

func TestTwoHundredChildrenLeaveNothing(t *testing.T) {
	b := backend(t, nil)
	// The first source starts what the runtime keeps: the poller and its descriptors.
	openAndRun(t, b, 1)
	before := count(t)
	openAndRun(t, b, 200)
	if after := count(t); after != before {
		buf := make([]byte, 1<<16)
		t.Errorf("before %+v, after %+v\n%s", before, after, buf[:runtime.Stack(buf, true)])
	}
}

// openAndRun runs n children of one source, several at once, and ends them in every
// way there is.
func openAndRun(t *testing.T, b *Backend, n int) {
	t.Helper()
	s, err := b.Open(t.Context(), template(sandbox.Shape{}))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ways := []func(*testing.T, sandbox.Source){finishOne, exitOne, abandonOne}
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; i < n; i += 4 {
				ways[i%len(ways)](t, s)
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func finishOne(t *testing.T, s sandbox.Source) { driveOne(t, s, "print('x')\n1") }

func exitOne(t *testing.T, s sandbox.Source) { driveOne(t, s, "import os\nos._exit(3)") }

func driveOne(t *testing.T, s sandbox.Source, code string) {
	c, err := s.Start(t.Context(), false)
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := sandboxtest.Drive(t.Context(), c, sandboxtest.Program{Code: code}); err != nil {
		t.Error(err)
	}
}

// abandonOne never reads the streams, as a pool does that throws a child away.
func abandonOne(t *testing.T, s sandbox.Source) {
	c, err := s.Start(t.Context(), false)
	if err != nil {
		t.Error(err)
		return
	}
	c.Kill(sandbox.CauseAbandoned)
	if _, err := c.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
