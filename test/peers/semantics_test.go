//go:build linux

package peers

import (
	"strings"
	"testing"
)

// semantics is what programs expect of Python.
func semantics() map[string][]trial {
	return map[string][]trial{"19 MAIN": mains(), "20 SCOPE": scopes(), "21 ASYNC": coroutines()}
}

// value is a trial of a program that prints nothing and has a value.
func value(name, code, json, kind string) trial {
	return trial{name: name, call: call{Code: code}, want: want{value: json, valueType: kind}}
}

// noisy is a value of a program that may have written to stderr: what imports
// readline does, without a terminal.
func noisy(name, code, json, kind string) trial {
	tr := value(name, code, json, kind)
	tr.want.stderrHas = []string{}
	return tr
}

// prints is a trial of a program that prints something and has no value.
func prints(name, code, text string) trial {
	return trial{name: name, call: call{Code: code}, want: want{stdout: text}}
}

// raises is a trial of a program that ends with an exception.
func raises(name, code, class, message string) trial {
	return trial{name: name, call: call{Code: code}, want: want{
		status: "error", exit: 1, code: class, message: []string{message}, stderrHas: []string{class},
	}}
}

func mains() []trial {
	return []trial{
		prints("the guard", "if __name__ == '__main__': print('m')", "m\n"),
		prints("main() behind the guard", "def main(): print('main')\nif __name__ == '__main__':\n    main()", "main\n"),
		value("sys.exit(main())", "import sys\ndef main(): return 0\nif __name__ == '__main__': sys.exit(main())", "", ""),
		value("it can be imported", "import __main__\nx = 5\n__main__.x", "5", "int"),
		value("sys.modules", "import sys\nx = 1\nvars(sys.modules['__main__']) is globals()", "true", "bool"),
		value("there is no file", "'__file__' in globals(), __doc__, __spec__", `"(False, None, None)"`, "tuple"),
		value("arguments", "import sys\nsys.argv", `[""]`, "list"),
		value("argparse", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, default=4)\np.parse_args().n", "4", "int"),
		value("pickle of a class of its own", "import pickle\nclass A:\n    def __init__(self, x): self.x = x\npickle.loads(pickle.dumps(A(3))).x", "3", "int"),
		value("a dataclass and its hints", "import typing\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\ntyping.get_type_hints(P)['x'] is int, P(1)", `"(True, P(x=1))"`, "tuple"),
		value("source of a function of its own", "import inspect\ndef f():\n    return 7\ninspect.getsource(f)", `"def f():\n    return 7\n"`, "str"),
		prints("a process pool with functions of its own", "from multiprocessing import Pool\ndef sq(x): return x * x\nif __name__ == '__main__':\n    with Pool(2) as p: print(p.map(sq, range(4)))", "[0, 1, 4, 9]\n"),
		prints("an executor of processes", "from concurrent.futures import ProcessPoolExecutor\ndef sq(x): return x * x\nwith ProcessPoolExecutor(2) as p: print(list(p.map(sq, range(4))))", "[0, 1, 4, 9]\n"),
		prints("a process and a queue", "import multiprocessing as mp\ndef f(q): q.put(mp.current_process().name)\nq = mp.Queue()\np = mp.Process(target=f, args=(q,), name='w')\np.start()\nprint(q.get())\np.join()", "w\n"),
		{name: "unittest", call: call{Code: "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\nif __name__ == '__main__': unittest.main()"}, want: want{stderrHas: []string{"Ran 1 test", "OK"}}},
		{name: "unittest that fails", call: call{Code: "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\nunittest.main()"}, want: want{
			status: "error", exit: 1, code: "SystemExit", message: []string{"exited with code 1"}, stderrHas: []string{"AssertionError: 1 != 2", "FAILED (failures=1)"},
		}},
		noisy("doctest", "import doctest\ndef f():\n    '''\n    >>> f()\n    1\n    '''\n    return 1\ntuple(doctest.testmod())[:2]", `"(0, 1)"`, "tuple"),
		prints("a module of its own", "open('helper.py', 'w').write('def f(): return 9')\nimport helper\nprint(helper.f())", "9\n"),
		{name: "a given module and package", call: call{
			Code:  "import util\nfrom pack.mod import X\nutil.F, X",
			Files: []file{{Path: "util.py", Text: "F = 1"}, {Path: "pack/__init__.py", Text: " "}, {Path: "pack/mod.py", Text: "X = 2"}},
		}, want: want{value: `"(1, 2)"`, valueType: "tuple"}},
		{name: "a given file that shadows the standard library loses nothing of the guest", call: call{
			Code: "import json\njson.X", Files: []file{{Path: "json.py", Text: "X = 1"}, {Path: "traceback.py", Text: "1/0"}, {Path: "sitecustomize.py", Text: "1/0"}},
		}, want: want{status: "error", exit: 1, code: "AttributeError", message: []string{"X"}, stderrHas: []string{"AttributeError"}}},
	}
}

func scopes() []trial {
	tr := []trial{
		value("comprehension sees globals", "n = 3\n[i * n for i in range(3)]", "[0, 3, 6]", "list"),
		value("comprehension variable does not leak", "i = 'kept'\n_ = [i for i in range(3)]\ni", `"kept"`, "str"),
		value("nested comprehension", "m = [[1, 2], [3]]\n[y + len(m) for x in m for y in [z for z in x]]", "[3, 4, 5]", "list"),
		value("generator that is late", "n = 1\ng = (n + i for i in range(2))\nn = 10\nlist(g)", "[10, 11]", "list"),
		value("class body", "x = 'global'\nclass A:\n    x = 'class'\n    y = x\n    def f(self): return x\n[A.y, A().f()]", `["class", "global"]`, "list"),
		value("comprehension in a class body", "class A:\n    n = 2\n    first = [i for i in range(n)]\nA.first", "[0, 1]", "list"),
		value("functions call each other", "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\neven(10)", "true", "bool"),
		value("recursion", "def fact(n): return 1 if n < 2 else n * fact(n - 1)\nfact(15)", "1307674368000", "int"),
		value("recursive lambda", "fib = lambda n: n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(12)", "144", "int"),
		value("recursion in a class", "class T:\n    def __init__(self, d): self.c = T(d - 1) if d else None\n    def depth(self): return 1 + (self.c.depth() if self.c else 0)\nT(20).depth()", "21", "int"),
		value("global", "n = 0\ndef f():\n    global n\n    n += 1\nf()\nf()\nn", "2", "int"),
		value("nonlocal", "def counter():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n        return n\n    return inc\nc = counter()\nc()\nc()", "2", "int"),
		value("closures in a loop", "fs = [lambda i=i: i for i in range(3)]\n[f() for f in fs]", "[0, 1, 2]", "list"),
		value("walrus", "if (n := len('abc')) > 2: m = n\n[y := 5, y ** 2, m]", "[5, 25, 3]", "list"),
		value("walrus in a comprehension binds outside", "_ = [last := i for i in range(4)]\nlast", "3", "int"),
		raises("del", "x = 1\ndel x\nx", "NameError", "name 'x' is not defined"),
		value("exec defines globals", "exec('y = 4')\ny", "4", "int"),
		value("exec with names of its own", "ns = {}\nexec('def f(): return g()\\ndef g(): return 8', ns)\nns['f']()", "8", "int"),
		value("eval sees globals", "z = 6\neval('z + 1')", "7", "int"),
		value("globals() writes", "globals()['made'] = 1\nmade", "1", "int"),
		value("locals is globals at the top", "locals() is globals()", "true", "bool"),
		value("dir and vars", "a = 1\n'a' in dir(), 'a' in vars()", `"(True, True)"`, "tuple"),
		value("names of builtins shadowed", "list = 3\nid = 4\ninput = 5\nprint = 6\nmax = 7\nlist + id + input + print + max", "25", "int"),
		value("builtins replaced", "import builtins\nbuiltins.len = lambda x: 42\nbuiltins.print = builtins.open = builtins.sorted = None\nlen([])", "42", "int"),
		{name: "every common builtin replaced", call: call{Code: "import builtins\nfor n in 'str repr type isinstance print open max getattr dict list'.split(): setattr(builtins, n, lambda *a: 1 / 0)\n[1, 'a']"}, want: want{
			value: `[1, "a"]`, valueType: "list", stderrHas: []string{}, // exit handlers of libraries stumble, and Python says so
		}},
		value("functions of modules replaced", "import json, os, sys, threading, traceback\njson.dumps = os.write = os.read = sys.exit = traceback.format_exception = threading.current_thread = None\n5", "5", "int"),
		value("builtins come back after del", "len = 1\ndel len\nlen('ab')", "2", "int"),
		value("an import of its own name", "import math as m\nfrom math import pi as π\nround(m.cos(π))", "-1", "int"),
		value("import star", "from math import *\nfloor(pi)", "3", "int"),
		value("the names that the guest uses", "ast = sys = report = values = cell = bridge = 1\nast + values", "2", "int"),
		value("underscore is an ordinary name", "_ = 3\n_ + 1", "4", "int"),
		value("exception variable is gone", "try: 1 / 0\nexcept Exception as e: pass\n'e' in globals()", "false", "bool"),
		value("annotations", "import __main__\nx: int = 1\ny: str\nsorted(__main__.__annotations__)", `["x", "y"]`, "list"),
		value("match", "match {'k': [1, 2]}:\n    case {'k': [a, *rest]}: r = (a, rest)\nr", `"(1, [2])"`, "tuple"),
		value("type parameters", "def first[T](xs: list[T]) -> T: return xs[0]\ntype A = int\nfirst([1])", "1", "int"),
		value("super and private names", "class A:\n    def f(self): return 'A'\nclass B(A):\n    def __g(self): return super().f() + 'B'\n    f = __g\nB().f()", `"AB"`, "str"),
		value("a last value of None is no value", "print", "\"<built-in function print>\"", "builtin_function_or_method"),
		value("an assignment has no value", "x = 5", "", ""),
		value("a semicolon does not hide the value", "x = 5; x", "5", "int"),
		value("the value behind a comment", "5  # five\n# end\n", "5", "int"),
		value("a string on its own is a value", "'''doc'''", `"doc"`, "str"),
		value("if has no value", "if True:\n    5", "", ""),
		value("a future import", "from __future__ import annotations\nx: NoSuchName = 1\nx", "1", "int"),
		raises("recursion without end", "def f(n): return f(n + 1)\nf(0)", "RecursionError", "maximum recursion depth exceeded"),
		raises("an import of what is not there", "import no_such_module", "ModuleNotFoundError", "no_such_module"),
	}
	given := []trial{
		{name: "given variables", call: call{Code: "def f(): return [a, b['k'], [a for _ in range(2)], c, d, e]\nf()", Variables: map[string]any{
			"a": 1, "b": map[string]any{"k": []any{nil, true}}, "c": "é", "d": 1.5, "e": nil,
		}}, want: want{value: `[1, [null, true], [1, 1], "é", 1.5, null]`, valueType: "list"}},
		{name: "given variables that shadow builtins", call: call{Code: "list + len", Variables: map[string]any{"list": 1, "len": 2, "print": 0, "str": 1, "__x": 1}}, want: want{
			status: "rejected", exit: -1, code: "INVALID_ARGUMENT", message: []string{"__x"},
			stderr: `variables: "__x": names that begin with two underscores are Python's own`,
		}},
		{name: "given variables with names of builtins", call: call{Code: "list + len", Variables: map[string]any{"list": 1, "len": 2, "print": 0, "str": 1, "type": 0, "BaseException": 0}}, want: want{value: "3", valueType: "int"}},
		{name: "a given variable that is changed", call: call{Code: "x += [2]\nx", Variables: map[string]any{"x": []int{1}}}, want: want{value: "[1, 2]", valueType: "list"}},
		{name: "a given name that is a keyword", call: call{Code: "1", Variables: map[string]any{"class": 1}}, want: want{
			status: "rejected", exit: -1, code: "INVALID_ARGUMENT", message: []string{`"class" is not a Python identifier`}, stderr: `variables: "class" is not a Python identifier in ASCII`,
		}},
		{name: "nothing stays from another run", call: call{Code: "import builtins, os, sys\n[n for n in ('n', 'x', 'made', 'list') if n in globals()] + os.listdir('.') + os.listdir('/tmp') + os.listdir('/dev/shm') + [builtins.len('')]"}, want: want{value: "[0]", valueType: "list"}},
	}
	return append(tr, given...)
}

func coroutines() []trial {
	never := trial{name: "a coroutine that nobody awaits", call: call{Code: "async def f(): return 3\nf()"}, want: want{
		valueType: "coroutine", value: anyValue, warnings: []string{"nobody awaited, so nothing of it ran: write await before it"},
	}}
	forgotten := trial{name: "a coroutine that is not the last value", call: call{Code: "async def f(): return 3\nx = f()\nprint('end')"}, want: want{
		stdout: "end\n", stderrHas: []string{"coroutine 'f' was never awaited"}, then: func(t *testing.T, a answer) {
			if strings.Contains(a.Stderr, "gearbox_guest") {
				t.Errorf("the warning shows the guest: %q", a.Stderr)
			}
		},
	}}
	return []trial{
		value("asyncio.run", "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 5\nasyncio.run(main())", "5", "int"),
		value("await at the top", "async def f(): return 3\nawait f()", "3", "int"),
		value("await of what is no call", "import asyncio\nt = asyncio.create_task(asyncio.sleep(0, 'done'))\nawait t", `"done"`, "str"),
		value("gather at the top", "import asyncio\nasync def f(i): return i * 2\nawait asyncio.gather(*(f(i) for i in range(3)))", "[0, 2, 4]", "list"),
		value("async for at the top", "async def g():\n    for i in range(3): yield i\nout = []\nasync for x in g(): out.append(x)\nout", "[0, 1, 2]", "list"),
		value("async with at the top", "import asyncio\nasync with asyncio.Lock() as l: x = 1\nx", "1", "int"),
		value("async comprehension at the top", "async def g():\n    for i in range(3): yield i\n[x async for x in g()]", "[0, 1, 2]", "list"),
		value("await inside a comprehension", "async def f(i): return i + 1\n[await f(i) for i in range(3)]", "[1, 2, 3]", "list"),
		value("task group and timeout", "import asyncio\nasync with asyncio.timeout(5), asyncio.TaskGroup() as tg: ts = [tg.create_task(asyncio.sleep(0, i)) for i in range(2)]\n[t.result() for t in ts]", "[0, 1]", "list"),
		value("a loop of its own", "import asyncio\nloop = asyncio.new_event_loop()\nr = loop.run_until_complete(asyncio.sleep(0, 4))\nloop.close()\nr", "4", "int"),
		value("a loop in a thread", "import asyncio, threading\nr = []\nt = threading.Thread(target=lambda: r.append(asyncio.run(asyncio.sleep(0, 6))))\nt.start()\nt.join()\nr", "[6]", "list"),
		value("asyncio.run twice", "import asyncio\n[asyncio.run(asyncio.sleep(0, i)) for i in range(2)]", "[0, 1]", "list"),
		value("queues and events", "import asyncio\nasync def work(q): return [await q.get() for _ in range(2)]\nasync def main():\n    q = asyncio.Queue()\n    t = asyncio.create_task(work(q))\n    await q.put(1); await q.put(2)\n    return await t\nasyncio.run(main())", "[1, 2]", "list"),
		value("a subprocess", "import asyncio\np = await asyncio.create_subprocess_exec('echo', 'sub', stdout=asyncio.subprocess.PIPE)\n(await p.communicate())[0].decode()", `"sub\n"`, "str"),
		prints("output of tasks before the end", "import asyncio\nasync def f(i):\n    await asyncio.sleep(0.01 * i)\n    print(i)\nawait asyncio.gather(f(2), f(1), f(0))\nNone", "0\n1\n2\n"),
		prints("a task that is left", "import asyncio\nt = asyncio.create_task(asyncio.sleep(60))\nawait asyncio.sleep(0)\nprint('end')", "end\n"),
		value("a function that is async in a class", "class A:\n    async def __aenter__(self): return 'in'\n    async def __aexit__(self, *a): return False\nasync with A() as x: y = x\ny", `"in"`, "str"),
		value("contextvars", "import asyncio, contextvars\nv = contextvars.ContextVar('v', default=0)\nasync def f(): v.set(1)\nawait asyncio.create_task(f())\nv.get()", "0", "int"),
		raises("asyncio.run beside await", "import asyncio\nawait asyncio.sleep(0)\nasyncio.run(asyncio.sleep(0))", "RuntimeError", "cannot be called from a running event loop"),
		raises("await in a plain function", "async def g(): pass\ndef f():\n    await g()", "SyntaxError", "'await' outside async function"),
		{name: "an error in a coroutine", call: call{Code: "async def f():\n    raise KeyError('k')\nawait f()"}, want: want{
			status: "error", exit: 1, code: "KeyError", message: []string{"'k'"},
			stderr: "Traceback (most recent call last):\n  File \"<cell>\", line 3, in <module>\n    await f()\n  File \"<cell>\", line 2, in f\n    raise KeyError('k')\nKeyError: 'k'\n",
		}},
		raises("an error group of tasks", "import asyncio\nasync def f(): raise ValueError('v')\nasync with asyncio.TaskGroup() as tg: tg.create_task(f())", "ExceptionGroup", "unhandled errors in a TaskGroup (1 sub-exception)"),
		never, forgotten,
	}
}
