//go:build linux && (amd64 || arm64)

package linux

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/cgroup"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// grouped is a backend whose children are in control groups.
func grouped(t *testing.T, guestFiles fs.FS) *Backend {
	t.Helper()
	groups, err := cgroup.Find()
	if err != nil {
		t.Skipf("skipped: control groups: %v", err)
	}
	b := backend(t, guestFiles)
	b.config.Groups = groups
	return b
}

func TestLinuxPassesTheSuiteInControlGroups(t *testing.T) {
	sandboxtest.Run(t, sandboxtest.Config{Backend: grouped(t, nil), Template: template(sandbox.Shape{}), NarrowsProcesses: true})
}

func TestAChildThatStaysOutOfItsGroupIsCaughtFromOutside(t *testing.T) {
	s := openWith(t, grouped(t, sabotaged(t, "seal.py", `os.write(door, b"0")`, "pass")), sandbox.Shape{})
	if _, err := s.Start(bounded(t), false); err == nil || !strings.Contains(err.Error(), "other control groups") {
		t.Errorf("got %v", err)
	}
	<-s.Done()
}

func TestTheKernelCountsAWholeTree(t *testing.T) {
	src := openWith(t, grouped(t, nil), sandbox.Shape{})
	limits := execution.DefaultLimits()
	limits.Memory, limits.Processes = 128<<20, 16
	for name, c := range map[string]struct {
		code  string
		cause sandbox.Cause
		full  bool
	}{
		"memory of the children": {
			"import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        b = bytearray(b'x') * (60 << 20)\n        time.sleep(600)\ntime.sleep(600)",
			sandbox.CauseMemory, false,
		},
		"memory and scratch together": {
			"open('/tmp/x', 'wb').write(bytes(63 << 20))\nb = bytearray(b'x') * (66 << 20)\nimport time\ntime.sleep(600)",
			sandbox.CauseMemory, false,
		},
		"processes": {
			"import os, time\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(600)\nexcept BlockingIOError: pass",
			sandbox.CauseFinished, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := drive(t, src, sandboxtest.Program{Code: c.code, Arm: sandbox.Arm{Limits: limits}})
			if out.Ended.Cause != c.cause || out.Ended.ProcessesFull != c.full || out.Ended.Usage.MemoryPeak == 0 {
				t.Errorf("%+v", out.Ended)
			}
			if out.Ended.Usage.MemoryPeak > limits.Memory+4<<20 {
				t.Errorf("peak %v over a limit of %v", out.Ended.Usage.MemoryPeak, limits.Memory)
			}
		})
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob("/sys/fs/cgroup/memory/*/gearbox-" + strconv.Itoa(os.Getpid()) + "-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
