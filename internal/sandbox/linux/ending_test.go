//go:build linux && (amd64 || arm64)

package linux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

func TestForkServerThatDiesTakesChildrenAlongAndFailsWaiters(t *testing.T) {
	s := open(t, sandbox.Shape{})
	parked, killed := start(t, s), start(t, s)
	pid, err := parked.cell.pid()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.server.process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := parked.Wait(bounded(t)); !errors.Is(err, sandbox.ErrSourceDead) {
		t.Errorf("wait of a parked child: %v", err)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the child lives on: %v", err)
	}
	if _, err := parked.Bridge().ReadFrame(); err == nil {
		t.Error("a frame from a dead child")
	}
	killed.Kill(sandbox.CauseTimeout)
	if _, err := killed.Wait(bounded(t)); err != nil && !errors.Is(err, sandbox.ErrSourceDead) {
		t.Errorf("wait of a killed child: %v", err)
	}
	<-s.Done()
	if _, err := s.Start(bounded(t), false); !errors.Is(err, sandbox.ErrSourceDead) {
		t.Errorf("start: %v", err)
	}
}

func TestForkServerThatHangsIsEndedByClose(t *testing.T) {
	s := open(t, sandbox.Shape{})
	c := start(t, s)
	if err := s.server.process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(bounded(t)); err != nil || e.Cause != sandbox.CauseShutdown {
		t.Errorf("ended %+v, %v", e, err)
	}
}

func TestOrphansEndWithTheProgram(t *testing.T) {
	s := open(t, sandbox.Shape{})
	const code = `
import os, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(w, b".")
        time.sleep(3600)
    os._exit(0)
os.wait()
os.read(r, 1)
os._exit(7)
`
	// The streams of drive end only when the orphan, which holds them, is dead.
	out := run(t, s, code)
	if out.Ended.Cause != sandbox.CauseNone || out.Ended.ExitCode != 7 {
		t.Errorf("ended %+v", out.Ended)
	}
}

func TestTheReaperCannotBeReached(t *testing.T) {
	out := run(t, open(t, sandbox.Shape{}), `
import os, signal
seen = [sorted(int(p) for p in os.listdir("/proc") if p.isdigit())]
for n in (0, signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
    try:
        os.kill(1, n)
        seen.append("sent")
    except OSError as error:
        seen.append(type(error).__name__)
seen
`)
	if out.Result == nil {
		t.Fatalf("no result: %v", out.ResultErr)
	}
	got := string(out.Result.Value)
	// Before Landlock could scope signals they are sent and ignored: process 1 of a
	// namespace is deaf to signals from inside without a handler.
	if got != `[[2],"PermissionError","PermissionError","PermissionError","PermissionError"]` && got != `[[2],"sent","sent","sent","sent"]` {
		t.Errorf("got %s", got)
	}
}

func TestMemoryOfTheWholeTreeIsLimited(t *testing.T) {
	s := open(t, sandbox.Shape{})
	// Each process alone stays below the limit.
	const code = `
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = b"x" * (60 << 20)
        time.sleep(3600)
time.sleep(3600)
`
	limits := execution.DefaultLimits()
	limits.Memory = 200 * execution.MiB
	out := drive(t, s, sandboxtest.Program{Code: code, Arm: sandbox.Arm{Limits: limits}})
	if out.Ended.Cause != sandbox.CauseMemory || out.Ended.Usage.MemoryPeak <= limits.Memory {
		t.Errorf("ended %+v", out.Ended)
	}
}

func TestForksThatShareMemoryAreNotCountedTwice(t *testing.T) {
	const code = `
import os, time
held = b"x" * (100 << 20)
for _ in range(6):
    if os.fork() == 0:
        time.sleep(3600)
print("ready", flush=True)
time.sleep(3600)
`
	limits := execution.DefaultLimits()
	limits.Memory = 300 * execution.MiB
	ended := runUntilReady(t, open(t, sandbox.Shape{}), sandbox.Arm{Limits: limits}, code, func(c *child) {
		if held, tasks := c.watch.measure(); held > limits.Memory || held < 100*execution.MiB || tasks != 7 {
			t.Errorf("measured %v in %d tasks", held, tasks)
		}
	})
	if ended.Cause != sandbox.CauseCancelled {
		t.Errorf("ended %+v", ended)
	}
}

// runUntilReady runs a program until its first line, calls look, and kills it.
func runUntilReady(t *testing.T, s sandbox.Source, arm sandbox.Arm, code string, look func(*child)) sandbox.Ended {
	t.Helper()
	c := start(t, s)
	lines, out := io.Pipe()
	defer out.Close()
	go func() {
		if line, err := bufio.NewReader(lines).ReadString('\n'); err != nil || line != "ready\n" {
			t.Errorf("first line %q, %v", line, err)
		} else {
			look(c)
		}
		c.Kill(sandbox.CauseCancelled)
		_, _ = io.Copy(io.Discard, lines)
	}()
	outcome, err := sandboxtest.Drive(bounded(t), c, sandboxtest.Program{Code: code, Arm: arm, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Ended
}

func TestFullScratchIsKnown(t *testing.T) {
	s := open(t, sandbox.Shape{Scratch: 4 * execution.MiB, ScratchFiles: 50})
	for name, code := range map[string]string{
		"blocks": "import os\nos.makedirs('d')\nf = os.open('/tmp/f', os.O_CREAT | os.O_WRONLY)\ng = os.open('d/g', os.O_CREAT | os.O_WRONLY)\ntry:\n    while True:\n        os.write(f, b'x' * 65536)\n        os.write(g, b'x' * 65536)\nexcept OSError as e:\n    n = e.errno\nn",
		"files":  "try:\n    for i in range(60): open(f'/dev/shm/{i}', 'w').close()\nexcept OSError as e:\n    n = e.errno\nn",
	} {
		out := run(t, s, code)
		if out.Result == nil || string(out.Result.Value) != "28" || !out.Ended.ScratchFull {
			t.Errorf("%s: result %+v, ended %+v", name, out.Result, out.Ended)
		}
	}
	if out := run(t, s, "open('small', 'w').write('x')"); out.Ended.ScratchFull {
		t.Errorf("a small file fills scratch: %+v", out.Ended)
	}
}

func TestProcessLimitStopsAForkBombAndIsSeen(t *testing.T) {
	const code = `
import os, time
n = 1
try:
    while True:
        if os.fork() == 0:
            time.sleep(3600)
        n += 1
except OSError:
    pass
print("ready" if n == 20 else n, flush=True)
time.sleep(3600)
`
	limits := execution.DefaultLimits()
	limits.Processes = 20
	ended := runUntilReady(t, open(t, sandbox.Shape{}), sandbox.Arm{Limits: limits}, code, func(c *child) {
		c.source.watcher.look(c.watch)
	})
	if !ended.ProcessesFull {
		t.Errorf("ended %+v", ended)
	}
}

func TestUsageIsTheKernelsWord(t *testing.T) {
	out := run(t, open(t, sandbox.Shape{}), "held = b'x' * (80 << 20)\nx = sum(i * i for i in range(10**6))\nlen(held)")
	u := out.Ended.Usage
	if u.CPU <= 0 || u.Wall <= 0 || u.MemoryPeak < 80*execution.MiB {
		t.Errorf("usage %+v", u)
	}
}

func TestStdinEndsForAProgramThatWaitsForIt(t *testing.T) {
	c := start(t, open(t, sandbox.Shape{}))
	out, err := sandboxtest.Drive(bounded(t), c, sandboxtest.Program{Code: "import sys\nsys.stdin.read()", Stdin: "text"})
	if err != nil || out.Result == nil || string(out.Result.Value) != `"text"` {
		t.Errorf("outcome %+v, %v", out, err)
	}
	if _, err := io.WriteString(c.Stdin(), "late"); err == nil {
		t.Error("stdin of a dead child takes text")
	}
}

func TestStandardStreamsCanBeOpenedByName(t *testing.T) {
	out := drive(t, open(t, sandbox.Shape{}), sandboxtest.Program{
		Code:  "open('/dev/stdout', 'w').write('out')\nopen('/dev/stderr', 'w').write('err')\nopen('/dev/stdin').read()",
		Stdin: "in",
	})
	if out.Stdout != "out" || out.Stderr != "err" || out.Result == nil || string(out.Result.Value) != `"in"` {
		t.Errorf("stdout %q, stderr %q, result %+v", out.Stdout, out.Stderr, out.Result)
	}
}

func TestChildThatIsKilledWhileItIsArmedDoesNotEndTheSource(t *testing.T) {
	s := open(t, sandbox.Shape{})
	for range 20 {
		c := start(t, s)
		go c.Kill(sandbox.CauseCancelled)
		_ = c.Arm(bounded(t), sandbox.Arm{Limits: execution.DefaultLimits(), NoExec: true})
		if e, err := c.Wait(bounded(t)); err != nil || e.Cause != sandbox.CauseCancelled {
			t.Fatalf("ended %+v, %v", e, err)
		}
	}
	start(t, s)
}

// TestSignalToTheOwnGroupReachesNobodyElse holds without Landlock's scopes too: before
// version 6 of it the group itself is the wall.
func TestSignalToTheOwnGroupReachesNobodyElse(t *testing.T) {
	for version := 1; version <= 6; version++ {
		t.Run(fmt.Sprintf("Landlock %d", version), func(t *testing.T) {
			files := sabotaged(t, "seal.py", "version = kernel.landlock_version()", fmt.Sprintf("version = min(%d, kernel.landlock_version())", version))
			testGroupSignals(t, openWith(t, backend(t, files), sandbox.Shape{}))
		})
	}
}

func testGroupSignals(t *testing.T, s sandbox.Source) {
	neighbour := start(t, s)
	// SIGINT would end the fork server, whose interpreter handles it.
	for _, signal := range []string{"SIGINT", "SIGKILL"} {
		for _, target := range []string{"0", "-1", "1"} {
			run(t, s, "import os, signal\ntry:\n    os.kill("+target+", signal."+signal+")\nexcept BaseException:\n    pass")
		}
	}
	out, err := sandboxtest.Drive(bounded(t), neighbour, sandboxtest.Program{Code: "print('alive')"})
	if err != nil || out.Stdout != "alive\n" {
		t.Errorf("neighbour: %+v, %v", out, err)
	}
}

// TestStreamsAreThoseOfPipes, whether they were made before the fork or after it.
func TestStreamsAreThoseOfPipes(t *testing.T) {
	s := open(t, sandbox.Shape{})
	// A child that is to be warm waits until those of the others are made.
	for name, c := range map[string]*child{"warm": startWarm(t, s), "cold": start(t, s)} {
		out, err := sandboxtest.Drive(bounded(t), c, sandboxtest.Program{Stdin: "in\n", Code: `
import sys
assert input() == "in"
print("out"); print("err", file=sys.stderr)
try:
    sys.stdout.tell()
except OSError as error:
    print(type(error).__name__)
[[f.fileno(), f.mode, f.seekable(), f.isatty(), f.line_buffering, f.encoding, f.errors, f.buffer.raw.closefd, f.buffer.raw.name]
 for f in (sys.stdin, sys.stdout, sys.stderr)] + [sys.stdout is sys.__stdout__]
`})
		if err != nil || out.Result == nil {
			t.Fatalf("%s: %v, %+v", name, err, out)
		}
		const want = `[[0,"r",false,false,false,"utf-8","surrogateescape",false,0],` +
			`[1,"w",false,false,true,"utf-8","backslashreplace",false,1],` +
			`[2,"w",false,false,true,"utf-8","backslashreplace",false,2],true]`
		if got := string(out.Result.Value); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if out.Stdout != "out\nUnsupportedOperation\n" || out.Stderr != "err\n" {
			t.Errorf("%s: stdout %q, stderr %q", name, out.Stdout, out.Stderr)
		}
	}
}

// TestNoProgramBeginsInAChildWhoseForkServerHasEnded: it lives for a moment longer.
func TestNoProgramBeginsInAChildWhoseForkServerHasEnded(t *testing.T) {
	s := open(t, sandbox.Shape{})
	c := start(t, s)
	if err := s.server.process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for !s.server.isStopped() {
		runtime.Gosched()
	}
	if err := c.Arm(bounded(t), sandbox.Arm{}); !errors.Is(err, sandbox.ErrSourceDead) {
		t.Errorf("armed: %v", err)
	}
}
