//go:build linux

package sidecar_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestEachLimitHasItsStatus(t *testing.T) {
	s := open(t, sidecar.Options{})
	for name, c := range map[string]struct {
		code    string
		timeout time.Duration
		status  execution.Status
		error   string
		exit    int
		stdout  string // what has to be kept
	}{
		"time": {
			"print('before', flush=True)\nwhile True: pass", time.Second,
			execution.StatusTimeout, "TIMEOUT", -1, "before\n",
		},
		"time, every signal ignored": {
			`import signal, os, time
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True: time.sleep(1)
while True: time.sleep(1)`, time.Second, execution.StatusTimeout, "TIMEOUT", -1, "",
		},
		"time, inside the interpreter's own code": {
			"import re\nre.match('(a+)+$', 'a' * 60 + 'b')", time.Second, execution.StatusTimeout, "TIMEOUT", -1, "",
		},
		"time, exceptions swallowed": {
			"while True:\n    try:\n        while True: pass\n    except BaseException: pass", time.Second,
			execution.StatusTimeout, "TIMEOUT", -1, "",
		},
		"memory at once": {
			"print('before')\nb = 'x' * 10**10", 0, execution.StatusMemoryLimit, "MEMORY_LIMIT", 1, "before\n",
		},
		"memory bit by bit": {
			"print('before', flush=True)\nb = []\nwhile True: b.append(bytearray(1 << 20))", 0,
			execution.StatusMemoryLimit, "MEMORY_LIMIT", 1, "before\n",
		},
		"memory of many processes": {
			`import os, time
print('before', flush=True)
for _ in range(8):
    if os.fork() == 0:
        b = bytearray(b'x') * (200 << 20)
        time.sleep(600)
time.sleep(600)`, 60 * time.Second, execution.StatusMemoryLimit, "MEMORY_LIMIT", -1, "before\n",
		},
		"output": {
			"while True: print('1234567890' * 100)", 60 * time.Second, execution.StatusOutputLimit, "OUTPUT_LIMIT", -1, "1234567890",
		},
		"processes": {
			`import os, time
print('before', flush=True)
while True:
    if os.fork() == 0:
        time.sleep(600)`, 60 * time.Second, execution.StatusProcessLimit, "PROCESS_LIMIT", 1, "before\n",
		},
		"threads": {
			`import threading, time
print('before', flush=True)
while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()`, 60 * time.Second,
			execution.StatusProcessLimit, "PROCESS_LIMIT", 1, "before\n",
		},
		"disk": {
			"print('before')\nopen('/tmp/x', 'wb').write(bytes(1 << 27))", 60 * time.Second,
			execution.StatusDiskLimit, "DISK_LIMIT", 1, "before\n",
		},
		"inodes": {
			"print('before')\nfor i in range(10_000): open(f'/workspace/{i}', 'x').close()", 60 * time.Second,
			execution.StatusDiskLimit, "DISK_LIMIT", 1, "before\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, s, execution.Request{Code: c.code, Timeout: c.timeout})
			code := ""
			if r.Error != nil {
				code = r.Error.Code
			}
			if r.Status != c.status || code != c.error || r.ExitCode != c.exit || !strings.HasPrefix(r.Stdout, c.stdout) {
				t.Errorf("status %s, error %q, exit %d, %d bytes of stdout, stderr %.300q", r.Status, code, r.ExitCode, len(r.Stdout), r.Stderr)
			}
			if r.DurationMS <= 0 || r.MemoryPeak <= 0 {
				t.Errorf("no usage: %v ms, %v", r.DurationMS, r.MemoryPeak)
			}
			if after := run(t, s, execution.Request{Code: "print(1)"}); after.Stdout != "1\n" {
				t.Errorf("the next run: %+v", after)
			}
		})
	}
}

func TestALimitThatWasMetAndSurvivedIsAWarning(t *testing.T) {
	s := open(t, sidecar.Options{})
	r := run(t, s, execution.Request{Code: `
try:
    open('/tmp/x', 'wb').write(bytes(1 << 27))
except OSError as e:
    print(e.errno in (27, 28))
`})
	if r.Status != execution.StatusOK || r.Stdout != "True\n" || len(r.Warnings) != 1 {
		t.Fatalf("%+v", r)
	}
}

// TestSourceTooLongToAnalyseIsTheGearsToDecide: by the fourth part of a second nobody
// knows what it would do, which is one permission more.
func TestSourceTooLongToAnalyseIsTheGearsToDecide(t *testing.T) {
	long := strings.Repeat("total = 0 if 'total' not in globals() else total + 1; x = [i for i in (1, 2, 3)]\n", 11_000) + "print(total)"
	s := open(t, sidecar.Options{})
	if r := run(t, s, execution.Request{Code: long, Timeout: time.Minute}); r.Status != execution.StatusOK || r.Stdout != "10999\n" {
		t.Errorf("where it is allowed: %s, %q, %+v", r.Status, r.Stdout, r.Error)
	}
	s = open(t, sidecar.Options{Deny: []string{"unsafe(unanalysable)"}})
	r := run(t, s, execution.Request{Code: long, Timeout: time.Minute})
	if r.Status != execution.StatusDenied || !slices.Contains(r.Denied, "unsafe(unanalysable)") {
		t.Errorf("where it is not: %s, %v", r.Status, r.Denied)
	}
}
