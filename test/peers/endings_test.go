//go:build linux

package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// endings are the ways in which programs end, or do not.
func endings() map[string][]trial {
	return map[string][]trial{"09 EXIT": exits(), "10 TMO-WEDGE": wedged(), "11 BG-PIPE": background(), "13 ZOMBIE": zombies()}
}

func exits() []trial {
	left := func(name, code string, exit int) trial {
		w := want{exit: exit}
		if exit != 0 {
			w.status, w.code, w.message = "error", "SystemExit", []string{fmt.Sprintf("the program exited with code %d", exit)}
		}
		return trial{name: name, call: call{Code: code}, want: w}
	}
	killed := func(name, code, signal string, number int) trial {
		return trial{name: name, call: call{Code: code}, want: want{
			status: "error", exit: 128 + number, signal: signal, code: signal, message: []string{signal},
			stderr: "The program was ended by the signal " + signal + ".",
		}}
	}
	said := left("sys.exit with a message", "import sys\nsys.exit('msg')", 1)
	said.want.stderr = "msg\n"
	return []trial{
		left("sys.exit(3)", "import sys\nsys.exit(3)", 3),
		said,
		left("sys.exit()", "import sys\nsys.exit()", 0),
		left("sys.exit(True)", "import sys\nsys.exit(True)", 1),
		left("sys.exit(256) is cut as by the kernel", "import sys\nsys.exit(256)", 0),
		left("sys.exit(-1)", "import sys\nsys.exit(-1)", 255),
		left("exit()", "exit(4)", 4),
		left("quit()", "quit()", 0),
		left("raise SystemExit", "raise SystemExit(5)", 5),
		left("in a coroutine", "async def f(): raise SystemExit(6)\nawait f()", 6),
		left("in an exit handler's way", "import atexit, sys\natexit.register(lambda: None)\nsys.exit(8)", 8),
		left("os._exit(7)", "import os\nos._exit(7)", 7),
		left("os._exit(0)", "import os\nos._exit(0)", 0),
		left("128 and more without a signal", "import os\nos._exit(137)", 137),
		left("in another thread ends only that thread", "import sys, threading\nt = threading.Thread(target=sys.exit, args=(9,))\nt.start()\nt.join()", 0),
		left("caught", "import sys\ntry: sys.exit(3)\nexcept SystemExit: pass", 0),
		killed("SIGKILL to itself", "import os\nos.kill(os.getpid(), 9)", "SIGKILL", 9),
		killed("os.abort", "import os\nos.abort()", "SIGABRT", 6),
		killed("SIGTERM", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "SIGTERM", 15),
		killed("SIGSEGV", "import ctypes\nctypes.string_at(0)", "SIGSEGV", 11),
		killed("SIGALRM", "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\ntime.sleep(9)", "SIGALRM", 14),
		{name: "KeyboardInterrupt", call: call{Code: "raise KeyboardInterrupt"}, want: want{
			status: "error", exit: 130, code: "KeyboardInterrupt", stderrHas: []string{"Traceback", "KeyboardInterrupt\n"},
		}},
		{name: "SIGINT to itself", call: call{Code: "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('not reached')"}, want: want{
			status: "error", exit: 130, code: "KeyboardInterrupt", stderrHas: []string{"KeyboardInterrupt"},
		}},
		{name: "an exception", call: call{Code: "class Odd(Exception): pass\nraise Odd('why')"}, want: want{
			status: "error", exit: 1, code: "Odd", message: []string{"why"}, stderrHas: []string{"line 2, in <module>", "Odd: why\n"},
		}},
		{name: "an exception that prints badly", call: call{Code: "class Odd(Exception):\n    def __str__(self): raise RuntimeError\nraise Odd"}, want: want{
			status: "error", exit: 1, code: "Odd", message: []string{"str() failed"}, stderrHas: []string{"Odd"},
		}},
		{name: "an assertion", call: call{Code: "assert 1 == 2, 'no'"}, want: want{status: "error", exit: 1, code: "AssertionError", message: []string{"no"}, stderrHas: []string{"AssertionError: no"}}},
		{name: "an exception with a cause", call: call{Code: "try: 1 / 0\nexcept Exception as e: raise KeyError('k') from e"}, want: want{
			status: "error", exit: 1, code: "KeyError", message: []string{"'k'"},
			stderrHas: []string{"ZeroDivisionError: division by zero", "direct cause", "KeyError: 'k'"},
		}},
		{name: "an exception in another thread", call: call{Code: "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\nprint('on')"}, want: want{
			stdout: "on\n", stderrHas: []string{"Exception in thread Thread-1", "ZeroDivisionError"},
		}},
		{name: "an exception in an exit handler", call: call{Code: "import atexit\natexit.register(lambda: 1 / 0)\nprint('on')"}, want: want{stdout: "on\n", stderrHas: []string{"ZeroDivisionError"}}},
		{name: "a hook for exceptions", call: call{Code: "import sys\nsys.excepthook = lambda *a: print('hooked', a[0].__name__)\n1 / 0"}, want: want{
			status: "error", exit: 1, code: "ZeroDivisionError", message: []string{"division by zero"}, stdout: "hooked ZeroDivisionError\n",
		}},
		{name: "source that does not parse", call: call{Code: "x = 1\nfor i in range(3) print(i)"}, want: want{
			status: "error", exit: 1, code: "SyntaxError", message: []string{"invalid syntax"}, stderrHas: []string{"line 2", "for i in range(3) print(i)", "SyntaxError: invalid syntax"},
		}},
	}
}

func wedged() []trial {
	stuck := func(name, code string) trial {
		return trial{name: name, call: call{Code: "print('before')\n" + code, Timeout: 1}, want: want{
			status: "timeout", exit: -1, code: "TIMEOUT", message: []string{"timed out after 1 second"},
			stdoutHas: []string{"before\n"}, stderrHas: []string{"Execution timed out after 1 second."}, then: inTime,
		}}
	}
	return []trial{
		stuck("sleep", "import time\ntime.sleep(30)"),
		stuck("busy loop", "while True: pass"),
		stuck("SIGTERM and SIGINT ignored", "import signal, time\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\ntime.sleep(30)"),
		stuck("every signal blocked", "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(30)"),
		stuck("every exception caught", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
		stuck("a regular expression in C", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"),
		stuck("a number in C", "10 ** 10 ** 8"),
		stuck("a sum in C", "import itertools\nsum(itertools.repeat(1))"),
		stuck("a lock that nobody gives back", "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()"),
		stuck("a thread that never ends", "import threading\ndef f():\n    while True: pass\nthreading.Thread(target=f).start()"),
		stuck("an exit handler that never ends", "import atexit, time\natexit.register(time.sleep, 30)"),
		stuck("a finalizer that never ends", "import time\nclass A:\n    def __del__(self): time.sleep(30)\na = A()"),
		stuck("a representation that never ends", "import time\nclass A:\n    def __repr__(self): time.sleep(30)\nA()"),
		stuck("a message that never ends", "import time\nclass E(Exception):\n    def __str__(self): time.sleep(30)\nraise E"),
		stuck("a coroutine that never ends", "import asyncio\nawait asyncio.Event().wait()"),
		stuck("a child process", "import subprocess\nsubprocess.run(['sleep', '30'])"),
		stuck("a child process that ignores SIGTERM", "import subprocess\nsubprocess.run(['sh', '-c', 'trap \"\" TERM INT HUP; while :; do sleep 5; done'])"),
		stuck("a child that holds a pipe", "import subprocess\nsubprocess.run('sleep 30 & echo started', shell=True, capture_output=True)"),
		stuck("stopped by itself", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
		stuck("a named pipe without a writer", "import os\nos.mkfifo('p')\nopen('p').read()"),
		stuck("a pipe that nobody reads", "import os\nr, w = os.pipe()\nwhile True: os.write(w, b'x' * 65536)"),
		stuck("signal.pause", "import signal\nsignal.pause()"),
		stuck("flushed text without a line's end", "import time\nprint('half', end='', flush=True)\ntime.sleep(30)"),
	}
}

// inTime wants the answer soon after the timeout of one second. The bound is
// generous because other programs run beside this one.
func inTime(t *testing.T, a answer) {
	if a.DurationMS < 1_000 || a.DurationMS > 3_000 {
		t.Errorf("took %v ms", a.DurationMS)
	}
}

// marker makes an argument of sleep that no other process has, by which the host
// finds the process again.
func marker(n int) string { return fmt.Sprintf("%d.%06d", 3000+n, os.Getpid()) }

// gone wants no process on the host that sleeps for that long. The answer does not wait
// until the kernel has taken them apart.
func gone(mark string) func(*testing.T, answer) {
	return func(t *testing.T, _ answer) {
		deadline := time.Now().Add(10 * time.Second)
		for len(sleepers(t, mark)) > 0 && time.Now().Before(deadline) {
			runtime.Gosched()
		}
		for _, p := range sleepers(t, mark) {
			t.Errorf("%s survived the run", p)
		}
	}
}

func sleepers(t *testing.T, mark string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), mark) {
			found = append(found, fmt.Sprintf("%s %q", p, b))
		}
	}
	return found
}

func background() []trial {
	left := func(n int, name, code string) trial {
		return trial{name: name, call: call{Code: strings.ReplaceAll(code, "MARK", marker(n))}, want: want{stdout: "hi\n", then: gone(marker(n))}}
	}
	return []trial{
		left(0, "a child that nobody waits for", "import subprocess\nsubprocess.Popen(['sleep', 'MARK'])\nprint('hi')"),
		left(1, "a shell's background job", "import subprocess\nsubprocess.run('sleep MARK & echo hi', shell=True)\nNone"),
		left(2, "a shell's job without its streams", "import subprocess\nsubprocess.run('sleep MARK </dev/null >/dev/null 2>&1 & echo hi', shell=True)\nNone"),
		left(3, "nohup", "import subprocess\nsubprocess.run('nohup sleep MARK >/dev/null 2>&1 & echo hi', shell=True)\nNone"),
		left(4, "a session of its own", "import subprocess\nsubprocess.Popen(['sleep', 'MARK'], start_new_session=True)\nprint('hi')"),
		left(5, "a daemon by two forks", "import os\npid = os.fork()\nif pid == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.execvp('sleep', ['sleep', 'MARK'])\n    os._exit(0)\nos.waitpid(pid, 0)\nprint('hi')"),
		left(6, "a daemon that ignores signals and lives in another directory", "import os, signal\npid = os.fork()\nif pid == 0:\n    os.setsid()\n    os.chdir('/')\n    os.closerange(0, 256)\n    signal.signal(signal.SIGHUP, signal.SIG_IGN)\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    if os.fork() == 0: os.execvp('sleep', ['sleep', 'MARK'])\n    os._exit(0)\nos.waitpid(pid, 0)\nprint('hi')"),
		left(7, "several at once", "import subprocess\nfor i in range(20): subprocess.Popen(['sleep', 'MARK'])\nprint('hi')"),
		{
			name: "a child that the program leaves by os._exit", call: call{Code: "import os, subprocess\nsubprocess.Popen(['sleep', '" + marker(8) + "'])\nprint('hi')\nos._exit(0)"},
			want: want{stdout: "hi\n", then: gone(marker(8))},
		},
		{
			name: "a reader and a writer of a named pipe",
			call: call{Code: "import subprocess\nsubprocess.run('mkfifo p; (while true; do echo child; sleep 1; done) > p & cat p; sleep " + marker(9) + "', shell=True)", Timeout: 2},
			want: want{
				status: "timeout", exit: -1, code: "TIMEOUT", message: []string{"timed out after 2 seconds"},
				stdoutHas: []string{"child\n"}, stderr: "Execution timed out after 2 seconds.", then: gone(marker(9)),
			},
		},
		{name: "a pool that was not closed", call: call{Code: "import multiprocessing\np = multiprocessing.Pool(2)\nprint(p.map(abs, [-1, 2]))"}, want: want{stdout: "[1, 2]\n"}},
		{name: "shell job and output read by the program", call: call{Code: "import subprocess\nsubprocess.run('sleep 0.1 & echo hi', shell=True, capture_output=True, text=True).stdout"}, want: want{value: `"hi\n"`, valueType: "str"}},
	}
}

// reaped is the program's own look at what is left: states of all processes but
// itself and the reaper. One that is gone when its state is read may have forked.
const reaped = `
import os, time
def others():
    found = []
    for p in os.listdir('/proc'):
        if p.isdigit() and int(p) not in (1, os.getpid()):
            try: found.append(open(f'/proc/{p}/stat').read().rsplit(')', 1)[1].split()[0])
            except OSError: found.append('gone')
    return found
while others(): time.sleep(0.01)
`

func zombies() []trial {
	return []trial{
		// On a busy machine processes begin faster than they get to their end: the limit
		// is then met for a moment, and a program that has to get on waits.
		{name: "5,000 orphans", call: call{Timeout: 120, Code: `import os, time
def fork():
    while True:
        try: return os.fork()
        except BlockingIOError: time.sleep(0.001)
for batch in range(200):
    pid = fork()
    if pid == 0:
        for i in range(25):
            if fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
` + reaped + "print('none left')"}, want: want{stdout: "none left\n", perhaps: reached}},
		{name: "orphans that die after their parent", call: call{Code: `import os, time
for i in range(20):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            time.sleep(0.2)
            os._exit(3)
        os._exit(0)
    os.waitpid(pid, 0)
` + reaped + "print('none left')"}, want: want{stdout: "none left\n"}},
		{name: "children that nobody waits for", call: call{Code: "import os\nfor i in range(40):\n    if os.fork() == 0: os._exit(1)\nprint('done')"}, want: want{stdout: "done\n"}},
		{name: "a chain of orphans", call: call{Code: `import os
pid = os.fork()
if pid == 0:
    for i in range(30):
        if os.fork(): os._exit(0)
    os.write(1, b'last of the chain\n')
    os._exit(0)
os.waitpid(pid, 0)
` + reaped}, want: want{stdout: "last of the chain\n"}},
		{name: "an orphan's exit code is not the program's", call: call{Code: `import os
pid = os.fork()
if pid == 0:
    if os.fork() == 0: os._exit(77)
    os._exit(0)
os.waitpid(pid, 0)
` + reaped}, want: want{}},
		{name: "an orphan that is killed", call: call{Code: `import os
pid = os.fork()
if pid == 0:
    if os.fork() == 0: os.abort()
    os._exit(0)
os.waitpid(pid, 0)
` + reaped}, want: want{}},
		{name: "an orphan's parent is the reaper", call: call{Code: `import os, time
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    if os.fork() == 0:
        while os.getppid() != 1: time.sleep(0.01)
        os.write(w, b'reaper')
        os._exit(0)
    os._exit(0)
os.waitpid(pid, 0)
os.read(r, 9).decode()`}, want: want{value: `"reaper"`, valueType: "str"}},
		{name: "wait for a certain child beside others", call: call{Code: "import os\npids = [os.posix_spawn('/bin/sh', ['sh', '-c', f'exit {i}'], {}) for i in range(9)]\n[os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in reversed(pids)]"}, want: want{
			value: "[8, 7, 6, 5, 4, 3, 2, 1, 0]", valueType: "list",
		}},
		{name: "SIGCHLD ignored", call: call{Code: "import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nfor i in range(200):\n    if os.fork() == 0: os._exit(0)\n    try: os.wait()\n    except ChildProcessError: pass\nprint('done')"}, want: want{stdout: "done\n"}},
		{name: "a child's end by signal is seen", call: call{Code: "import subprocess\nsubprocess.run(['sh', '-c', 'kill -9 $$']).returncode"}, want: want{value: "-9", valueType: "int"}},
	}
}
