"""Programs that replace what the guest itself might need: the answer still says what the program did."""

from __future__ import annotations

import textwrap
import unittest
from typing import Any

from harness import finish

_MODULES = """
ast atexit codecs gc inspect io itertools json json.decoder json.encoder linecache math os posix posixpath re signal
struct sys textwrap threading tokenize traceback types warnings _io _signal _thread
""".split()

_NO_FUNCTION = f"""
import sys
loaded = dict(sys.modules)
for name in {_MODULES}:
    module = loaded.get(name)
    for attribute in [] if module is None else list(vars(module)):
        if not attribute.startswith("__"):
            setattr(module, attribute, None)
"""

_NO_BUILTIN = """
import builtins
everything = vars(builtins)
for name in list(everything):
    everything[name] = None
"""

_WRONG = """
import builtins
def wrong(*args, **names): raise LookupError("not the guest's to call")
for name in {names}:
    setattr(builtins, name, wrong)
"""


class TestTampering(unittest.TestCase):
    maxDiff = None

    def value(self, source: str, expected: Any) -> None:
        result, _, stderr = finish(textwrap.dedent(source))
        self.assertEqual((result.get("outcome"), result.get("value")), ("ok", expected), stderr)

    def fails(self, source: str, name: str, message: str, line: int) -> str:
        result, _, stderr = finish(source)
        found = result.get("exception", {})
        self.assertEqual(
            (found.get("class"), found.get("message"), found.get("line")), (name, message, line), stderr
        )
        return stderr

    def test_replaced_functions_do_not_keep_the_result_back(self) -> None:
        self.value(
            "import json, os\njson.dumps = json.JSONEncoder = os.write = os.getpid = os._exit = None\n5", 5
        )
        self.value(
            "import json\njson.JSONEncoder.encode = json.JSONEncoder.iterencode = None\n{'a': 'é'}",
            {"a": "é"},
        )
        self.value("import sys\nsys.modules.clear()\n5", 5)
        self.value(_NO_FUNCTION + "{'a': [1, 2.5]}", {"a": [1, 2.5]})

    def test_each_builtin_may_be_replaced(self) -> None:
        common = "abs all any bool bytes dict enumerate filter float getattr hasattr hash id int isinstance issubclass iter len"
        more = "list map max min next object open ord print range repr reversed set sorted str sum super tuple type vars zip"
        names = [*common.split(), *more.split()]
        self.value(
            _WRONG.format(names=names) + "{'a': [1, 'b', 2.5, None, True]}", {"a": [1, "b", 2.5, None, True]}
        )
        self.value("import builtins\nbuiltins.len = lambda x: 42\nlen([])", 42)
        for name in names:
            with self.subTest(name):
                self.value(f"import builtins\nbuiltins.{name} = lambda *a, **k: 1\n[1, 'a']", [1, "a"])

    def test_no_builtin_at_all(self) -> None:
        self.value(_NO_BUILTIN + "[5]", [5])
        stderr = self.fails(_NO_BUILTIN + "1 / 0", "ZeroDivisionError", "division by zero", 6)
        self.assertIn('File "<cell>", line 6, in <module>\n', stderr)
        self.assertIn("ZeroDivisionError: division by zero\n", stderr)

    def test_a_report_needs_no_module_of_the_programs(self) -> None:
        source = "import traceback, linecache\nfor m in traceback, linecache:\n    for n in list(vars(m)): setattr(m, n, None)\n1 / 0"
        stderr = self.fails(source, "ZeroDivisionError", "division by zero", 4)
        self.assertIn('File "<cell>", line 4, in <module>\n    1 / 0\n', stderr)
        self.fails(_NO_FUNCTION + "{}['missing']", "KeyError", "'missing'", 9)

    def test_missing_streams_and_hooks(self) -> None:
        self.assertEqual(
            self.fails(
                "import sys\ndel sys.stdout, sys.stderr\n1 / 0", "ZeroDivisionError", "division by zero", 3
            ),
            "",
        )
        self.value("import sys\ndel sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__\n5", 5)
        stderr = self.fails(
            "import sys\ndel sys.excepthook, sys.__excepthook__\n1 / 0",
            "ZeroDivisionError",
            "division by zero",
            3,
        )
        self.assertIn("ZeroDivisionError: division by zero", stderr)

    def test_few_calls_are_enough_for_the_program_alone(self) -> None:
        self.value("import sys\nsys.setrecursionlimit(30)\n[[[5]]]", [[[5]]])
        self.fails("import sys\nsys.setrecursionlimit(30)\n1 / 0", "ZeroDivisionError", "division by zero", 3)

    def test_a_program_that_traces_itself_does_not_trace_the_guest(self) -> None:
        source = "import sys\ndef trace(frame, event, arg):\n    print(event, frame.f_code.co_name)\n    return trace\nsys.settrace(trace)\n(lambda: 1)()"
        result, stdout, _ = finish(source)
        self.assertEqual((result["value"], stdout), (1, "call <lambda>\nline <lambda>\nreturn <lambda>\n"))

    def test_a_metaclass_is_not_asked(self) -> None:
        source = """
            class Meta(type):
                def __getattribute__(cls, name): raise RuntimeError
            class Odd(Exception, metaclass=Meta): pass
            raise Odd("x")
            """
        self.fails(textwrap.dedent(source), "Odd", "x", 5)

    def test_what_the_interpreter_itself_asks_for_at_its_end_may_fail(self) -> None:
        result, _, stderr = finish("import threading\nthreading._shutdown = None\n5")
        self.assertEqual((result["outcome"], result["value"]), ("ok", 5))
        self.assertIn("TypeError: 'NoneType' object is not callable", stderr)
        result, _, stderr = finish("import threading\ndel threading._shutdown\n5")
        self.assertEqual((result["outcome"], result["value"]), ("ok", 5))
        self.assertNotIn("gearbox_guest", stderr)


class TestHandlersAtTheEnd(unittest.TestCase):
    """What a program does after its last statement counts as the interpreter counts it: it is shown and changes nothing."""

    def ends(self, source: str, outcome: str, code: int, stdout: str, stderr: str) -> None:
        result, out, err = finish(source)
        self.assertEqual((result["outcome"], result["exit_code"], out), (outcome, code, stdout))
        (self.assertIn if stderr else self.assertEqual)(stderr, err)
        self.assertNotIn("gearbox_guest", err)

    def test_exit_handlers(self) -> None:
        register = "import atexit, sys\n@atexit.register\ndef handler(): "
        self.ends(register + "print('late')\nsys.exit(4)", "exit", 4, "late\n", "")
        self.ends(
            register + "print('late'); 1 / 0\n5", "ok", 0, "late\n", "ZeroDivisionError: division by zero"
        )
        self.ends(register + "sys.exit(9)\nprint('on')", "ok", 0, "on\n", "SystemExit: 9")
        self.ends(register + "print('late')\n1 / 0", "exception", 1, "late\n", "ZeroDivisionError")

    def test_exception_hooks(self) -> None:
        hook = "import sys\ndef hook(kind, error, tb): "
        use = "\nsys.excepthook = hook\n1 / 0"
        self.ends(hook + "print('mine', kind.__name__)" + use, "exception", 1, "mine ZeroDivisionError\n", "")
        self.ends(
            hook + "raise KeyError('k')" + use, "exception", 1, "", "Error in sys.excepthook:\nTraceback"
        )
        self.ends(hook + "sys.exit(8)" + use, "exit", 8, "", "")
        self.ends(
            "import sys\nsys.excepthook = None\n1 / 0",
            "exception",
            1,
            "",
            "Error in sys.excepthook:\nTypeError",
        )

    def test_threads(self) -> None:
        start = "import threading\ndef work():\n    print('late', flush=True)\n    1 / 0\n"
        self.ends(
            start + "threading.Thread(target=work).start()\n5",
            "ok",
            0,
            "late\n",
            "Exception in thread Thread-1",
        )
        never = "threading.Thread(target=threading.Event().wait, daemon=True).start()\nprint('on')"
        self.ends(start + never, "ok", 0, "on\n", "")


class TestWarningsAtTheEnd(unittest.TestCase):
    """What arises when the guest ends the program's objects."""

    def warns(self, source: str, *lines: str) -> None:
        _, _, stderr = finish(source)
        self.assertEqual(stderr.splitlines(), list(lines))

    def test_a_coroutine_names_its_function_or_the_line_that_made_it(self) -> None:
        never = "RuntimeWarning: coroutine 'f' was never awaited"
        shown = "  async def f(): return 3"
        self.warns("\nasync def f(): return 3\nx = f()\n", f"<cell>:2: {never}", shown)
        self.warns("async def f(): return 3\n[f(), f()]", *[f"<cell>:1: {never}", shown] * 2)
        tracking = "import sys\nsys.set_coroutine_origin_tracking_depth(2)\nasync def f(): pass\nx = f()"
        self.warns(tracking, f"<cell>:4: {never}", "  x = f()")

    def test_other_warnings_name_no_line_of_the_guest(self) -> None:
        for last in ("x = open('a', 'w')", "open('a', 'w')"):
            _, _, stderr = finish(f"import warnings\nwarnings.simplefilter('always')\n{last}")
            self.assertIn("sys:1: ResourceWarning: unclosed file", stderr)
            self.assertNotIn("gearbox_guest", stderr)


if __name__ == "__main__":
    unittest.main()
