//go:build linux

package codemode

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// The traps of a server that gives code to a model by other means (peers 2.1): what its
// policy lets by, what it refuses for nothing, and what its executor leaves open.

// POLICY BY REGEX: each text is judged by what it does. The gear is the one that may import
// no more than it names, so that what gets by shows.
func TestPolicyIsNoSearchInTheText(t *testing.T) {
	b := open(t, setting{servers: servers{"s": newPeer(t, "").entry()}, flags: []string{"--gear", "restricted"}})
	for name, c := range map[string]struct{ code, what string }{
		"two modules in one line":   {"import math, subprocess\nsubprocess.run(['id'])", "import(subprocess)"},
		"after a semicolon":         {"import math;import subprocess; subprocess.run(['id'])", "import(subprocess)"},
		"in a branch":               {"if 1: import subprocess; subprocess.run(['id'])", "import(subprocess)"},
		"__import__":                {"__import__('subprocess').run(['id'])", "import(subprocess)"},
		"os.system by __import__":   {"__import__('os').system('id')", "run(id)"},
		"eval":                      {"eval(\"__import__('os').system('id')\")", "unsafe(eval)"},
		"by subclasses":             {"[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen'][0](['id'])", "unsafe(dunder)"},
		"through another module":    {"from json import codecs\ncodecs.sys.modules['os'].system('id')", "unsafe(reexport)"},
		"by importlib":              {"import importlib\nimportlib.import_module('subprocess').run(['id'])", "import(importlib)"},
		"by getattr":                {"import os\ngetattr(os, 'sys' + 'tem')('id')", "run(id)"},
		"in letters of other kinds": {"import ｏｓ\nｏｓ.ｓｙｓｔｅｍ('id')", "import(os)"},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.execute(c.code, nil)
			if a.Status != "denied" || a.Error == nil || a.Error.Code != "POLICY_VIOLATION" || !strings.Contains(a.Error.Message, c.what) {
				t.Errorf("%s", a.raw)
			}
		})
	}
	t.Run("opening with a blank before the bracket reads nothing of the host", func(t *testing.T) {
		a := b.execute("print(open ('/etc/passwd').read())", nil)
		lacks(t, string(a.raw), "daemon:")
	})
	for name, code := range map[string]string{
		"a text with import os on a line": "text = '''\nimport os\nos.system('id')\n'''\nlen(text)",
		"a comment":                       "# import subprocess; subprocess.run(['id'])\n1",
		"a word in a name":                "import_os = 1\nevaluate = lambda x: x\nevaluate(import_os)",
		"open as a key":                   "{'open (': 1, 'exec': 2}['exec']",
		"a long text":                     "x = '" + strings.Repeat("a", 7_000) + "'\nlen(x)",
		"many lines":                      strings.Repeat("x = 1\n", 300) + "x",
	} {
		t.Run("passes: "+name, func(t *testing.T) {
			if a := b.execute(code, nil); a.Status != "ok" {
				t.Errorf("%s", a.raw)
			}
		})
	}
}

// IN-PROCESS EXEC: a program is in no process that knows of the server, its client or
// another program.
func TestAProgramIsNotInTheServersProcess(t *testing.T) {
	b := open(t, setting{servers: servers{"s": newPeer(t, "").entry()}, flags: []string{"--compat", "code-mode"}})
	for _, how := range []string{"execute", "execute_code"} {
		run := func(code string) answer { return b.use(how, map[string]any{"code": code}) }
		run("import sys, builtins, json\nsys.modules['left'] = builtins.left = 1\njson.dumps = None\nbuiltins.print = None\nimport os; os.environ['LEFT'] = '1'; os.chdir('/')")
		a := run(`
import sys, builtins, json, os, gc
print([hasattr(builtins, "left"), "left" in sys.modules, json.dumps(1), "LEFT" in os.environ, os.getcwd() == "/"])
print("mcp" in sys.modules, "gearbox" in " ".join(sys.modules))
print(sorted(int(f) for f in os.listdir("/proc/self/fd"))[:3])
print(os.getppid(), [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 1000])
`)
		has(t, a.text, "[False, False, '1', False, False]", "[0, 1, 2]")
		// Ending the interpreter, or writing what looks like the protocol, ends nothing else.
		run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
		run("import os\nos._exit(3)")
		run(`import os; [os.write(fd, b'{"jsonrpc":"2.0","id":1,"result":{}}\n') for fd in (1, 2)]`)
		has(t, run("print(6*7)").text, "42")
	}
}

// KEYS LEAKING IN: those of models, which the other server passes on.
func TestKeysOfModelsAreNotInTheSandbox(t *testing.T) {
	names := []string{"OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "MCP_SERVERS_CONFIG", "AZURE_OPENAI_API_KEY"}
	env := make([]string, len(names))
	for i, n := range names {
		env[i] = n + "=sk-0123456789abcdefghij"
	}
	env[4] = "MCP_SERVERS_CONFIG=/nowhere/servers.json"
	b := open(t, setting{servers: servers{"s": newPeer(t, "").entry()}, env: env, flags: []string{"--compat", "code-mode"}})
	for _, how := range []string{"execute", "execute_code"} {
		a := b.use(how, map[string]any{"code": "import os, subprocess\nprint(dict(os.environ))\nprint(open('/proc/self/environ').read())"})
		for _, n := range names {
			lacks(t, a.text, n)
		}
		lacks(t, a.text, "sk-0123456789")
	}
}

// LOCK KEPT AFTER TIMEOUT, and the thread that goes on: what ran out of time is dead, in
// the middle of a call too, and the next run has all that it needs.
func TestARunThatTimedOutHoldsNothingAndGoesOnNowhere(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "")
	b := open(t, setting{servers: servers{"s": p.entry(map[string]any{"max_concurrency": 1})}, flags: []string{"--compat", "code-mode"}})
	for name, code := range map[string]string{
		"computing":              "while True: pass",
		"sleeping":               "import time\ntime.sleep(600)",
		"waiting for a tool":     "from tools import s\ns.lose()",
		"with a lock held":       "import threading\nl = threading.Lock(); l.acquire(); l.acquire()",
		"catching everything":    "while True:\n    try:\n        import time; time.sleep(600)\n    except BaseException:\n        pass",
		"in a thread that calls": "import threading, time, tools\ndef go():\n    n = 0\n    while True:\n        try: tools.call('s', 'echo', {'n': n})\n        except tools.ToolError: pass\n        n += 1\nthreading.Thread(target=go).start()",
	} {
		t.Run(name, func(t *testing.T) {
			a := b.use("execute", map[string]any{"code": "print('begun', flush=True)\n" + code, "timeout_seconds": 0.5})
			if a.Status != "timeout" || a.Stdout != "begun\n" {
				t.Fatalf("%s", a.raw)
			}
			made := len(p.calls())
			if got := value[int](b, "from tools import s\ns.echo(n=5)['n']", nil); got != 5 {
				t.Error(got)
			}
			if now := len(p.calls()); now != made+1 {
				t.Errorf("%d calls came from a run that had ended", now-made-1)
			}
		})
	}
	t.Run("as the other server says it", func(t *testing.T) {
		a := b.use("execute_code", map[string]any{"code": "while True: pass", "timeout": 1})
		has(t, string(a.raw)+a.text, "TIMEOUT")
		has(t, b.use("execute_code", map[string]any{"code": "print(6*7)"}).text, "42")
	})
}

// OUTPUT OF ONE IN ANOTHER: it is no state of the process.
func TestOutputOfRunsAtOnceIsNotMixed(t *testing.T) {
	b := open(t, setting{servers: servers{"s": newPeer(t, "").entry(map[string]any{"max_concurrency": 8})}})
	ended := make(chan string)
	const runs = 4
	for n := range runs {
		mark := strings.Repeat(string(rune('a'+n)), 8)
		go func() {
			// All are there before one goes on.
			a, err := b.try(context.WithoutCancel(t.Context()), "execute", map[string]any{
				"code": "from tools import s\nfor i in range(50): print(MARK)\ns.together(n=1, many=4)\nfor i in range(50): print(MARK)", "timeout_seconds": timeout, "wait_seconds": timeout, "variables": map[string]any{"MARK": mark},
			})
			if err != nil || a.Stdout != strings.Repeat(mark+"\n", 100) {
				ended <- string(a.raw)
				return
			}
			ended <- ""
		}()
	}
	var wrong []string
	for range runs {
		if w := <-ended; w != "" {
			wrong = append(wrong, w)
		}
	}
	if slices.Sort(wrong); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
}
