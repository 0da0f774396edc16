//go:build linux && (amd64 || arm64)

package linux

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// holdings is what could leak.
type holdings struct {
	descriptors, processes, mounts, goroutines int
}

// exceeds reports whether anything is left beyond what there was before.
func (h holdings) exceeds(before holdings) bool {
	return h.descriptors > before.descriptors || h.processes > before.processes ||
		h.mounts > before.mounts || h.goroutines > before.goroutines
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
		descriptors: len(fds), processes: len(tree(os.Getpid(), 0)) - 1,
		mounts: strings.Count(string(mounts), "\n"), goroutines: runtime.NumGoroutine(),
	}
}

func TestTwoHundredChildrenLeaveNothing(t *testing.T) {
	b := backend(t, nil)
	// The first source starts what the runtime keeps: the poller and its descriptors.
	openAndRun(t, b, 1)
	before := count(t)
	openAndRun(t, b, 200)
	after := count(t)
	// A goroutine that has said its last word may still have to return.
	for range 10_000 {
		if !after.exceeds(before) {
			return
		}
		runtime.Gosched()
		after = count(t)
	}
	if after.exceeds(before) {
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

// hostVariable makes this binary hold a child until it is killed.
const hostVariable = "GEARBOX_TEST_HOST"

// TestHelperHost is the process that TestChildrenDieWithTheHost kills.
func TestHelperHost(t *testing.T) {
	if os.Getenv(hostVariable) == "" {
		t.Skip("not started by another test")
	}
	c := start(t, open(t, sandbox.Shape{}))
	pid, err := c.cell.pid()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stdout, "child %d\n", pid)
	<-c.ended
}

// TestChildrenDieWithTheHost: the host is killed without a chance to clean up.
func TestChildrenDieWithTheHost(t *testing.T) {
	backend(t, nil) // skips where there is no sandbox
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestHelperHost$")
	cmd.Env = append(os.Environ(), hostVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if n, err := fmt.Fscanf(out, "child %d\n", &pid); n != 1 || err != nil {
		t.Fatalf("no child: %v", err)
	}
	cell, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(cell)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if !waitReadable(cell, patience) {
		t.Error("the child lives on")
	}
}
