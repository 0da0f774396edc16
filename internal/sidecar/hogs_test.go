//go:build linux

package sidecar_test

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// hogs take what they can get of one thing each.
func hogs() map[string]string {
	return map[string]string{
		"processes":   "import os, time\nwhile True:\n    try:\n        if os.fork() == 0: time.sleep(600)\n    except OSError: pass",
		"threads":     "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(600,)).start()\n    except RuntimeError: pass",
		"memory":      "b = []\nwhile True:\n    try: b.append(bytearray(1 << 20))\n    except MemoryError: pass",
		"output":      "while True: print('x' * 10_000)",
		"inodes":      "i = 0\nwhile True:\n    i += 1\n    try: open(f'/workspace/{i}', 'x').close()\n    except OSError: pass",
		"disk":        "while True:\n    try: open('/tmp/x', 'ab', buffering=0).write(bytes(1 << 20))\n    except OSError: pass",
		"descriptors": "import os\nkeep = []\nwhile True:\n    try: keep.append(os.pipe())\n    except OSError: pass",
		"inotify":     "import ctypes\nlibc = ctypes.CDLL(None)\nwhile True: libc.inotify_init()",
	}
}

// roomForHogs is what the server may grow by while it holds the outputs of eight
// hogs: what is kept of each stream, and the garbage of a busy moment.
const roomForHogs = 64 << 10 // KiB

func TestEightHogsAtOnceHarmNobody(t *testing.T) {
	s := open(t, sidecar.Options{})
	before, size := atRest(t, s), resident(t)
	var wg sync.WaitGroup
	for name, code := range hogs() {
		wg.Go(func() {
			r := run(t, s, execution.Request{Code: code, Timeout: 3 * time.Second})
			switch r.Status {
			case execution.StatusTimeout, execution.StatusMemoryLimit, execution.StatusOutputLimit, execution.StatusProcessLimit, execution.StatusDiskLimit:
			default:
				t.Errorf("%s: %s, %+v\n%s", name, r.Status, r.Error, r.Stderr)
			}
		})
	}
	for range 3 {
		if r := run(t, s, execution.Request{Code: "print(1)"}); r.Stdout != "1\n" || r.Status != execution.StatusOK {
			t.Errorf("the ninth: %+v", r)
		}
	}
	wg.Wait()
	if now := resident(t); now > size+roomForHogs {
		t.Errorf("the server grew from %d to %d KiB", size, now)
	}
	settled(t, before)
}

// resident is the memory of this process in KiB.
func resident(t *testing.T) int {
	t.Helper()
	for line := range strings.Lines(read(t, "/proc/"+strconv.Itoa(os.Getpid())+"/status")) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
