//go:build linux && (amd64 || arm64)

package linux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/linux/leveltest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// levelVariable tells a copy of the tests which level it was forced to.
const levelVariable = "GEARBOX_TEST_LEVEL"

// TestWeakerLevelsHold runs the tests of forced_test.go where the kernel gives less, as
// root and as an ordinary user.
func TestWeakerLevelsHold(t *testing.T) {
	if os.Getenv(levelVariable) != "" {
		t.Skip("started by itself")
	}
	in, err := json.Marshal(publicCopy(t, interpreter(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []execution.Level{execution.LevelNoProc, execution.LevelNoUserns} {
		for name, uid := range forcedUsers() {
			t.Run(fmt.Sprintf("%s/%s", level, name), func(t *testing.T) { runForced(t, level, uid, string(in)) })
		}
	}
}

func forcedUsers() map[string]int {
	if os.Geteuid() != 0 {
		return map[string]int{"unprivileged": 0} // the only user of a namespace is its 0
	}
	return map[string]int{"root": 0, "unprivileged": ordinaryUser}
}

func runForced(t *testing.T, level execution.Level, uid int, in string) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.timeout=5m", "-test.run=^TestForced")
	cmd.Env = []string{interpreterVariable + "=" + in, levelVariable + "=" + string(level), "PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	leveltest.Force(cmd, level, uid)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%d tests passed, %d were skipped", strings.Count(string(out), "--- PASS"), strings.Count(string(out), "--- SKIP"))
}

// forced returns the level of this copy and a backend for it, or skips.
func forced(t *testing.T) (execution.Level, *Backend) {
	t.Helper()
	level := execution.Level(os.Getenv(levelVariable))
	if level == "" {
		t.Skip("not started by TestWeakerLevelsHold")
	}
	return level, forcedBackend(t, nil)
}

func forcedBackend(t *testing.T, files map[string]string) *Backend {
	t.Helper()
	in := interpreter(t)
	c := Config{Interpreters: func(context.Context, execution.Digest) (sandbox.Interpreter, error) { return in, nil }}
	if old, new := files["old"], files["new"]; old != "" {
		c.Guest = sabotaged(t, files["file"], old, new)
	}
	return New(c)
}

func TestForcedLevelIsTheOneThatAProbeFinds(t *testing.T) {
	level, b := forced(t)
	r := b.Probe(bounded(t))
	if r.Level != level {
		t.Fatalf("found %q: %+v", r.Level, r.Checks)
	}
	last := r.Checks[len(r.Checks)-1]
	if stopped := r.Checks[len(r.Checks)-2]; stopped.OK || stopped.Detail == "" || !last.OK || last.Name != "level "+string(level) {
		t.Errorf("checks %+v", r.Checks)
	}
	if s := openWith(t, b, sandbox.Shape{}); s.Level() != level {
		t.Errorf("opened at %s", s.Level())
	}
}

func TestForcedLevelPassesTheSuite(t *testing.T) {
	_, b := forced(t)
	sandboxtest.Run(t, sandboxtest.Config{Backend: b, Template: template(sandbox.Shape{}), NarrowsProcesses: true})
}

func TestForcedIdentityIsTheSandboxsOwn(t *testing.T) {
	level, b := forced(t)
	got := value[[]int](t, openWith(t, b, sandbox.Shape{}), "import os\n[*os.getresuid(), *os.getresgid(), *os.getgroups()]")
	want := 1000
	if level == execution.LevelNoUserns {
		want = b.identity.uid
	}
	for i, id := range got {
		if i < 6 && id != want {
			t.Errorf("identities %v, want %d", got, want)
		}
	}
	if os.Geteuid() == 0 && b.identity.root && b.identity.uid != SandboxUID {
		t.Errorf("root runs programs as %d", b.identity.uid)
	}
}

// TestForcedChildThatSkipsAStepIsCaught: what must hold at the level is seen from outside.
func TestForcedChildThatSkipsAStepIsCaught(t *testing.T) {
	level, _ := forced(t)
	table := map[string]struct{ file, old, new, found string }{
		"seccomp":  {"seal.py", "kernel.install_filter(plan.cell_filter)", "None", `cell has Seccomp`},
		"session":  {"seal.py", `("session", leave_session)`, `("session", lambda: None)`, `cell has NSpgid`},
		"identity": {"seal.py", `_write(f"{process}/uid_map", "1000 0 1", directory)`, `_write(f"{process}/uid_map", "1001 0 1", directory)`, `cell has uid_map`},
	}
	if level == execution.LevelNoUserns {
		delete(table, "identity")
		table["keeper's filter"] = struct{ file, old, new, found string }{"keeper.py", "kernel.install_filter(plan.keeper_filter)", "None", `reaper has Seccomp`}
		table["landlock"] = struct{ file, old, new, found string }{"seal.py", "kernel.landlock_enforce(ruleset)", "None", `in spite of the restriction`}
	}
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			b := forcedBackend(t, map[string]string{"file": c.file, "old": c.old, "new": c.new})
			child, err := openWith(t, b, sandbox.Shape{}).Start(bounded(t), false)
			if err == nil {
				child.Kill(sandbox.CauseAbandoned)
				t.Fatal("the child was given away")
			}
			if !strings.Contains(err.Error(), c.found) {
				t.Errorf("got %v, want %q in it", err, c.found)
			}
		})
	}
}

func TestForcedKillReachesTheWholeTree(t *testing.T) {
	_, b := forced(t)
	s := openWith(t, b, sandbox.Shape{})
	const code = `
import os, signal, time
for n in range(1, 65):
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(5):
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            pass
        if os.fork():
            os._exit(0)
        time.sleep(3600)
print("ready", flush=True)
time.sleep(3600)
`
	var pids []int
	runUntilReady(t, s, sandbox.Arm{Limits: execution.DefaultLimits()}, code, func(c *child) {
		pids = tree(c.watch.cell, c.watch.reaper)
	})
	if len(pids) < 2 {
		t.Errorf("only %v was there", pids)
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, 0); err == nil {
			t.Errorf("process %d lives on", pid)
		}
	}
}

func TestForcedForkServerThatDiesTakesChildrenAlong(t *testing.T) {
	_, b := forced(t)
	s := openWith(t, b, sandbox.Shape{})
	c := start(t, s)
	pid, err := c.cell.pid()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.server.process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := unix.Kill(pid, 0); err == nil {
		t.Error("the child lives on")
	}
}

func TestForcedSignalsReachNobodyElse(t *testing.T) {
	_, b := forced(t)
	testGroupSignals(t, openWith(t, b, sandbox.Shape{}))
}

func TestForcedOrphansEndWithTheProgram(t *testing.T) {
	_, b := forced(t)
	const code = "import os, time\nif os.fork() == 0:\n    if os.fork() == 0:\n        time.sleep(3600)\n    os._exit(0)\nos.wait()\nos._exit(7)"
	if out := run(t, openWith(t, b, sandbox.Shape{}), code); out.Ended.ExitCode != 7 || out.Ended.Cause != sandbox.CauseNone {
		t.Errorf("ended %+v", out.Ended)
	}
}

func TestForcedScratchIsBounded(t *testing.T) {
	level, b := forced(t)
	s := openWith(t, b, sandbox.Shape{Scratch: 4 * execution.MiB, ScratchFiles: 50})
	for name, code := range map[string]string{
		"bytes": "import time\nfor i in range(40):\n    try:\n        open(str(i), 'wb').write(b'x' * (1 << 20))\n    except OSError:\n        pass\nwhile SPIN: time.sleep(0.01)",
		"files": "import time\nfor i in range(60):\n    try:\n        open(str(i), 'w').close()\n    except OSError:\n        pass\nwhile SPIN: time.sleep(0.01)",
	} {
		code = strings.Replace(code, "SPIN", map[bool]string{true: "True", false: "False"}[level == execution.LevelNoUserns], 1)
		limits := execution.DefaultLimits()
		limits.Scratch = 4 * execution.MiB
		out := drive(t, s, sandboxtest.Program{Code: code, Arm: sandbox.Arm{Limits: limits}})
		if !out.Ended.ScratchFull {
			t.Errorf("%s: ended %+v", name, out.Ended)
		}
	}
}

// TestForcedScratchIsRemoved: no directory is left of a run, not even one that its
// program took the rights of.
func TestForcedScratchIsRemoved(t *testing.T) {
	level, b := forced(t)
	if level != execution.LevelNoUserns {
		t.Skip("scratch is a file system of its own, gone with its namespace")
	}
	s := openWith(t, b, sandbox.Shape{})
	home := s.home.path
	run(t, s, "import os\nos.makedirs('a/b')\nos.mkdir('a/b/c', 0)\nopen('a/f', 'w').write('x')")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", home, err)
	}
}

func TestForcedStandardLibraryWorks(t *testing.T) {
	_, b := forced(t)
	s := openWith(t, b, sandbox.Shape{Programs: "sh,sort"})
	const code = `
import asyncio, multiprocessing, subprocess, tempfile, threading, shutil, os
async def aio():
    p = await asyncio.create_subprocess_exec("sort", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return (await p.communicate(b"b\na\n"))[0].decode()
def put(c): c.send(os.getpid() != 0)
ours, theirs = multiprocessing.Pipe()
p = multiprocessing.Process(target=put, args=(theirs,))
p.start(); p.join()
with tempfile.NamedTemporaryFile() as f:
    f.write(b"x"); f.flush()
    copied = shutil.copy(f.name, "copy")
[asyncio.run(aio()), subprocess.run("echo $((1+1)) | sort", shell=True, capture_output=True, text=True).stdout,
 ours.recv(), p.exitcode, copied, os.path.samefile(os.getcwd(), os.environ["HOME"])]
`
	got := value[[]any](t, s, code)
	want := []any{"a\nb\n", "2\n", true, 0.0, "copy", true}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestForcedMemoryOfTheWholeTreeIsLimited: the shares of several processes can be read,
// also by a root that may not trace others.
func TestForcedMemoryOfTheWholeTreeIsLimited(t *testing.T) {
	_, b := forced(t)
	s := openWith(t, b, sandbox.Shape{})
	limits := execution.DefaultLimits()
	limits.Memory = 300 * execution.MiB
	const shared = "import os, time\nheld = b'x' * (100 << 20)\nfor _ in range(6):\n    if os.fork() == 0:\n        time.sleep(3600)\nprint('ready', flush=True)\ntime.sleep(3600)\n"
	ended := runUntilReady(t, s, sandbox.Arm{Limits: limits}, shared, func(c *child) { lookOnce(s.watcher, c.watch) })
	if ended.Cause != sandbox.CauseCancelled {
		t.Errorf("forks that share memory: %+v", ended)
	}
	const own = "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        held = b'x' * (60 << 20)\n        time.sleep(3600)\ntime.sleep(3600)\n"
	out := drive(t, s, sandboxtest.Program{Code: own, Arm: sandbox.Arm{Limits: limits}})
	if out.Ended.Cause != sandbox.CauseMemory {
		t.Errorf("ended %+v", out.Ended)
	}
}

// lookOnce measures as the watcher's own goroutine does.
func lookOnce(w *watcher, x *watch) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if w.as != nil {
			lookAs(*w.as)
		}
		w.look(x)
	}()
	<-done
}
