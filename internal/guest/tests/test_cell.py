"""What a person finds who runs a cell: the semantics of a script, with a value at its end."""

from __future__ import annotations

import os
import sys
import textwrap
import unittest
from typing import Any

from harness import Guest, finish, run


class TestCell(unittest.TestCase):
    maxDiff = None

    def value(self, source: str, expected: Any, **how: Any) -> None:
        result, _, stderr = finish(textwrap.dedent(source), **how)
        self.assertEqual(result.get("outcome"), "ok", stderr)
        self.assertEqual(result.get("value"), expected)

    def prints(self, source: str, stdout: str, stderr: str = "", **how: Any) -> dict[str, Any]:
        result, out, err = finish(textwrap.dedent(source), **how)
        self.assertEqual((out, err), (stdout, stderr))
        return result


class TestValue(TestCell):
    def test_the_last_expression_is_the_value_and_is_not_printed(self) -> None:
        result = self.prints("x = 20\nx + 1", "")
        self.assertEqual(result, {"outcome": "ok", "exit_code": 0, "value": 21, "value_type": "int"})

    def test_a_statement_or_none_has_no_value(self) -> None:
        for source in ("x = 1", "None", "print()", "", "# only a comment", "if True: 7", "'a'; x = 2"):
            with self.subTest(source):
                self.assertEqual(finish(source)[0], {"outcome": "ok", "exit_code": 0})

    def test_the_only_string_is_a_value_and_a_first_one_the_docstring(self) -> None:
        self.value('"text"', "text")
        self.value('"""Doc."""\n__doc__', "Doc.")

    def test_a_value_of_an_own_class_has_its_plain_name(self) -> None:
        result, _, _ = finish("class Point:\n    def __repr__(self): return 'P'\nPoint()")
        self.assertEqual((result["value"], result["value_type"]), ("P", "Point"))

    def test_a_repr_that_raises_is_a_warning(self) -> None:
        result, _, stderr = finish("class Bad:\n    def __repr__(self): raise SystemExit(9)\nBad()")
        self.assertEqual((result["outcome"], result["exit_code"], stderr), ("ok", 0, ""))
        self.assertEqual(result["warnings"], ["the value has no repr: SystemExit"])
        self.assertNotIn("value", result)

    def test_no_name_of_the_guest_shows(self) -> None:
        self.value("[n for n in globals() if not n.startswith('__') or 'gearbox' in n]", [])
        self.value("dir()\n'gearbox' in ' '.join(dir())", False)


class TestMain(TestCell):
    def test_the_program_is_the_main_module(self) -> None:
        self.prints("if __name__ == '__main__': print('m')", "m\n")
        self.value("import sys; sys.modules['__main__'].__dict__ is globals()", True)
        self.value("import sys; [sys.argv, __builtins__.len([1])]", [[""], 1])

    def test_the_workspace_is_where_imports_and_files_are_found(self) -> None:
        self.value("import os, sys; os.path.realpath(sys.path[0]) == os.getcwd()", True)
        self.value(
            """
            open("mine.py", "w").write("ANSWER = 42")
            import mine
            mine.ANSWER
            """,
            42,
        )
        self.value("import sys; sys.path[-1]", "/site-of-the-operator")

    def test_the_guest_is_not_on_the_path(self) -> None:
        self.value(
            """
            import importlib.machinery, sys
            sys.modules.pop("gearbox_guest")
            importlib.machinery.PathFinder.find_spec("gearbox_guest") is None
            """,
            True,
        )

    def test_names_resolve_as_in_a_module(self) -> None:
        self.value(
            """
            data = [3, 1, 2]
            def total():
                global seen
                seen = [n * scale for n in data]
                return sum(seen)
            scale = 2
            class Box:
                size = len(data)
                cells = [n * len(data) for n in range(size)]
            def outer(n):
                return 0 if n == 0 else 1 + outer(n - 1)
            exec("made = scale + 1")
            [total(), seen, Box.cells, outer(50), eval("made"), [(lambda: scale)() for _ in range(1)]]
            """,
            [12, [6, 2, 4], [0, 3, 6], 50, 3, [2]],
        )

    def test_tools_that_look_for_the_module_find_it(self) -> None:
        self.value(
            """
            import dataclasses, inspect, pickle, typing
            @dataclasses.dataclass
            class Row:
                name: str
                next: "Row | None" = None
            def double(x): return 2 * x
            copy = pickle.loads(pickle.dumps(Row("a", Row("b"))))
            [copy.next.name, list(typing.get_type_hints(Row)), pickle.loads(pickle.dumps(double))(4), inspect.getsource(double)]
            """,
            ["b", ["name", "next"], 8, "def double(x): return 2 * x\n"],
        )

    def test_future_imports_hold(self) -> None:
        self.value(
            "from __future__ import annotations\ndef f(x: missing): pass\nf.__annotations__", {"x": "missing"}
        )

    @unittest.skipIf(sys.version_info < (3, 14), "PEP 649 came with Python 3.14")
    def test_annotations_are_lazy(self) -> None:
        self.value("def f(x: Later): pass\nclass Later: pass\nf.__annotations__['x'] is Later", True)

    def test_processes_of_multiprocessing_find_the_functions(self) -> None:
        self.value(
            """
            from concurrent.futures import ProcessPoolExecutor
            import multiprocessing
            def square(n): return n * n
            with ProcessPoolExecutor(2) as pool:
                found = list(pool.map(square, range(4)))
            with multiprocessing.Pool(2) as pool:
                found += pool.map(square, [9])
            found
            """,
            [0, 1, 4, 9, 81],
        )

    def test_variables_are_globals(self) -> None:
        self.value("[name, count, rows, missing]", ["é", 3, [{"a": 1.5}], None], variables={
            "name": "é", "count": 3, "rows": [{"a": 1.5}], "missing": None,
        })  # fmt: skip


class TestAsync(TestCell):
    def test_await_works_at_the_top_level(self) -> None:
        self.value(
            """
            import asyncio
            async def double(n):
                await asyncio.sleep(0)
                return 2 * n
            task = asyncio.create_task(double(4))
            found = await asyncio.gather(double(1), double(2))
            async with asyncio.Lock():
                found += [n async for n in (await double(i) for i in range(2))]
            [found, await task]
            """,
            [[2, 4, 0, 2], 8],
        )

    def test_asyncio_run_works_as_in_a_script(self) -> None:
        self.value("import asyncio\nasync def main(): return 'done'\nasyncio.run(main())", "done")

    def test_an_exception_after_await_shows_only_the_program(self) -> None:
        result, _, stderr = finish(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1 / 0\nawait f()\n"
        )
        self.assertEqual(result["exception"]["line"], 4)
        self.assertEqual(len(result["exception"]["traceback"]), 2)
        self.assertNotIn("asyncio/", stderr)
        self.assertIn("<module>", stderr)

    def test_a_coroutine_that_nobody_awaits_is_named(self) -> None:
        _, _, stderr = finish("async def f(): pass\nf()\nx = 1")
        self.assertIn("<cell>:2: RuntimeWarning: coroutine 'f' was never awaited", stderr)

    def test_exit_inside_await_is_an_exit(self) -> None:
        result, _, _ = finish("import sys, asyncio\nawait asyncio.sleep(0)\nsys.exit(4)")
        self.assertEqual((result["outcome"], result["exit_code"]), ("exit", 4))


class TestText(TestCell):
    def test_odd_source_runs(self) -> None:
        self.value("# -*- coding: no-such-codec -*-\nпривет = 'é\U0001f600'\nпривет", "é\U0001f600")
        self.value("if True:\n\tx = 1\n\tx\nx", 1)
        self.value("x = 5\f\nx   # no newline at the end", 5)
        self.value("x = '''a\n  b\\n'''\nx\n\n\n", "a\n  b\n")
        self.value("a = 1; b = 2; a + b;", 3)

    def test_output_never_fails_for_its_characters(self) -> None:
        self.prints(
            "import sys\nprint('é\U0001f600 \\ud800')\nprint('\\udcff', file=sys.stderr)",
            "é\U0001f600 \\ud800\n",
            "\\udcff\n",
        )
        self.value(
            "import sys; [sys.stdout.encoding, sys.stdin.encoding, sys.stderr.encoding]", ["utf-8"] * 3
        )

    def test_input_reads_lines_and_then_ends(self) -> None:
        result, stdout, stderr = finish("name = input('who? ')\nprint(name)\ninput()", stdin="één\n".encode())
        self.assertEqual(stdout, "who? één\n")
        self.assertEqual(result["exception"]["class"], "EOFError")
        self.assertIn("EOFError: EOF when reading a line\n", stderr)

    def test_output_keeps_its_order_with_that_of_subprocesses(self) -> None:
        self.prints("import os\nprint('a')\nos.system('echo b')\nprint('c')", "a\nb\nc\n")

    def test_output_that_was_not_flushed_is_not_lost(self) -> None:
        self.prints(
            "import sys\nsys.stdout.buffer.write(b'raw ')\nprint('x', end='')\nsys.stderr.write('y')",
            "raw x",
            "y",
        )
        self.prints("import ctypes\nctypes.CDLL(None).printf(b'from c')\nx = 1", "from c")
        self.prints("import io, sys\nprint('a', end='')\nsys.stdout = io.StringIO()\nprint('b')", "a")

    def test_closed_streams_do_no_harm(self) -> None:
        self.value("import sys\nsys.stdout.close()\nsys.stderr = None\n1", 1)


class TestEnd(TestCell):
    def test_exit_codes_are_those_of_the_interpreter(self) -> None:
        for raised, code, stderr in (
            ("sys.exit()", 0, ""), ("sys.exit(3)", 3, ""), ("sys.exit(256)", 0, ""), ("sys.exit(-1)", 255, ""),
            ("sys.exit(10**30)", 255, ""), ("sys.exit(True)", 1, ""), ("sys.exit('msg')", 1, "msg\n"),
            ("sys.exit([1])", 1, "[1]\n"), ("exit(5)", 5, ""), ("quit()", 0, ""), ("raise SystemExit", 0, ""),
        ):  # fmt: skip
            with self.subTest(raised):
                result = self.prints(f"import sys\n{raised}", "", stderr)
                self.assertEqual(result, {"outcome": "exit", "exit_code": code})

    def test_an_interrupt_is_130(self) -> None:
        for raised in (
            "raise KeyboardInterrupt",
            "import os, signal; os.kill(os.getpid(), signal.SIGINT); 1",
        ):
            result, _, stderr = finish(raised)
            self.assertEqual((result["exit_code"], result["exception"]["class"]), (130, "KeyboardInterrupt"))
            self.assertTrue(stderr.endswith("KeyboardInterrupt\n"))

    def test_a_process_that_ends_leaves_no_result(self) -> None:
        for source, code in (("os._exit(7)", 7), ("os.kill(os.getpid(), 9)", -9), ("os.abort()", -6)):
            ended = run(f"import os\nprint('x')\n{source}")
            self.assertEqual((ended.result, ended.stdout, ended.returncode), (None, "x\n", code))

    def test_threads_are_waited_for_and_exit_handlers_run(self) -> None:
        self.prints(
            """
            import atexit, threading
            atexit.register(print, "handler")
            go = threading.Event()
            def work():
                go.wait()
                print("thread")
            threading.Thread(target=work).start()
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            print("end")
            go.set()
            """,
            "end\nthread\nhandler\n",
        )

    def test_threads_and_handlers_also_follow_a_failure(self) -> None:
        result, stdout, _ = finish("import atexit\natexit.register(print, 'handler')\n1 / 0")
        self.assertEqual((result["outcome"], stdout), ("exception", "handler\n"))

    def test_finalizers_run_and_see_the_program_whole(self) -> None:
        source = """
            class Late:
                def __del__(self): print("finalizer", data)
            data = [1]
            late = Late()
            late.ring = late
            """
        self.prints(source, "finalizer [1]\n")

    def test_files_that_were_left_open_reach_the_disk(self) -> None:
        with Guest() as guest:
            guest.analyse("out = open('out.txt', 'w')\nout.write('kept')\ndef user(): return out")
            guest.run()
            with open(os.path.join(guest.workspace, "out.txt")) as file:
                self.assertEqual(file.read(), "kept")

    def test_a_fork_that_falls_off_its_end_does_not_answer(self) -> None:
        result = self.prints(
            "import os\npid = os.fork()\nif pid: print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nelse: raise SystemExit(6)\npid > 0",
            "6\n",
        )
        self.assertEqual(result["value"], True)

    def test_the_exit_code_survives_a_closed_bridge(self) -> None:
        ended = run("import os\nos.closerange(3, 4096)\nexit(5)")
        self.assertEqual((ended.result, ended.returncode), (None, 5))

    def test_running_out_of_memory_is_reported(self) -> None:
        result, _, stderr = finish(
            "x = []\nwhile True: x.append(bytearray(10**6))", arm={"limits": {"address_space": 400 << 20}}
        )
        self.assertEqual((result["exception"]["class"], result["exception"]["line"]), ("MemoryError", 2))
        self.assertIn("MemoryError", stderr)


class TestReport(TestCell):
    def test_only_line_feeds_divide_lines(self) -> None:
        for odd in ("\u2028", "\u2029", "\x85", "\x0c", "\x1c"):
            result, _, stderr = finish(f"x = 'a{odd}b'\ny = x\n1 / 0")
            self.assertEqual(result["exception"]["line"], 3)
            self.assertIn('File "<cell>", line 3, in <module>\n    1 / 0\n', stderr)

    def test_text_that_is_none_is_written_out(self) -> None:
        result, _, stderr = finish("name = 'a\\udcff.txt'\nopen(name, 'w').close()\nraise ValueError(name)")
        self.assertEqual(result["exception"]["message"], "a\\udcff.txt")
        self.assertIn("ValueError: a\\udcff.txt", stderr)
        result, _, _ = finish("class A: pass\nA.__qualname__ = '\\ud800'\nA()")
        self.assertIn("\\ud800", result["value_type"])

    def test_the_report_is_that_of_the_interpreter(self) -> None:
        source = "def f(n):\n    return 1 / n\n\nf(0)\n"
        result, _, stderr = finish(source)
        self.assertTrue(
            stderr.startswith(
                'Traceback (most recent call last):\n  File "<cell>", line 4, in <module>\n    f(0)\n'
            )
        )
        self.assertTrue(stderr.endswith("ZeroDivisionError: division by zero\n"))
        exception = result["exception"]
        self.assertEqual(exception["text"], stderr)
        self.assertEqual(
            (exception["class"], exception["message"]), ("ZeroDivisionError", "division by zero")
        )
        self.assertEqual((exception["line"], result["exit_code"], len(exception["traceback"])), (2, 1, 2))

    def test_chained_and_grouped_exceptions_show_no_guest(self) -> None:
        for source in (
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
            "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['y']",
            "async def f(): 1 / 0\nimport asyncio\nasync def g():\n    try: await f()\n    except ZeroDivisionError as e: raise KeyError from e\nawait g()",
        ):
            _, _, stderr = finish(source)
            self.assertNotIn("gearbox_guest", stderr)
            self.assertIn("ZeroDivisionError", stderr)

    @unittest.skipIf(sys.version_info < (3, 11), "exception groups came with Python 3.11")
    def test_the_members_of_a_group_are_shown(self) -> None:
        source = """
            import asyncio
            async def bad(n): raise ValueError(n)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(bad(1))
                tasks.create_task(bad(2))
            """
        result, _, stderr = finish(textwrap.dedent(source))
        self.assertEqual(result["exception"]["class"], "ExceptionGroup")
        self.assertNotIn("gearbox_guest", stderr)
        self.assertIn("ValueError: 2", stderr)

    def test_frames_of_libraries_stay_in_the_text_alone(self) -> None:
        result, _, stderr = finish("import json\njson.loads('{')")
        self.assertRegex(stderr, r"\n  … \d library frames, the last: json/decoder.py, line \d+, in \w+ …\n")
        self.assertEqual(len(result["exception"]["traceback"]), 1)
        self.assertEqual((result["exception"]["class"], result["exception"]["line"]), ("JSONDecodeError", 2))

    def test_deep_recursion_is_abbreviated(self) -> None:
        for source in ("def f(): f()\nf()", "def f(): g()\ndef g(): f()\nf()"):
            result, _, stderr = finish(source)
            self.assertEqual(result["exception"]["class"], "RecursionError")
            self.assertLess(len(result["exception"]["traceback"]), 25)
            self.assertLess(len(stderr), 4_000)
            self.assertIn("RecursionError", stderr)

    def test_an_error_number_is_kept(self) -> None:
        result, _, _ = finish("open('/no/such/file')")
        self.assertEqual(
            (result["exception"]["class"], result["exception"]["errno"]), ("FileNotFoundError", 2)
        )

    def test_an_exception_that_cannot_be_printed_is_reported(self) -> None:
        result, _, stderr = finish(
            "class Odd(Exception):\n    def __str__(self): raise SystemExit\nraise Odd"
        )
        self.assertEqual(result["exception"]["message"], "<exception str() failed>")
        self.assertIn("Odd", stderr)

    def test_a_long_message_is_shortened_in_the_result_alone(self) -> None:
        result, _, stderr = finish("raise ValueError('x' * 10**6)")
        self.assertLess(len(result["exception"]["text"]), 70_000)
        self.assertGreater(len(stderr), 10**6)

    def test_syntax_errors_are_shown_as_the_interpreter_shows_them(self) -> None:
        result, _, stderr = finish("exec('x = = 1')")
        self.assertIn(
            'File "<string>", line 1\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n', stderr
        )
        self.assertEqual(result["exception"]["line"], 1)

    def test_exceptions_of_threads_are_printed(self) -> None:
        result, _, stderr = finish(
            "import threading\ndef f(): 1 / 0\nt = threading.Thread(target=f)\nt.start()\nt.join()"
        )
        self.assertEqual(result["outcome"], "ok")
        self.assertIn("Exception in thread Thread-1 (f):\n", stderr)
        self.assertTrue(stderr.endswith("ZeroDivisionError: division by zero\n"))

    def test_warnings_name_the_line(self) -> None:
        self.prints(
            "import warnings\n\nwarnings.warn('hm')\nprint('ok')",
            "ok\n",
            "<cell>:3: UserWarning: hm\n  warnings.warn('hm')\n",
        )
        _, _, stderr = finish("x = 1\nx is 'a'\ny = '\\d'")
        self.assertIn("<cell>:2: SyntaxWarning:", stderr)
        self.assertRegex(stderr, "<cell>:3: (Syntax|Deprecation)Warning:")

    def test_an_own_excepthook_is_used(self) -> None:
        result, stdout, stderr = finish(
            "import sys\nsys.excepthook = lambda t, v, tb: print('hook', t.__name__, tb.tb_lineno)\n1 / 0"
        )
        self.assertEqual((stdout, stderr), ("hook ZeroDivisionError 3\n", ""))
        self.assertIn("ZeroDivisionError: division by zero", result["exception"]["text"])
        _, _, stderr = finish("import sys\nsys.excepthook = lambda *a: {}['k']\n1 / 0")
        self.assertIn("Error in sys.excepthook:\nTraceback", stderr)
        self.assertIn("KeyError: 'k'\n\nOriginal exception was:\nTraceback", stderr)
        result, _, _ = finish("import sys\nsys.excepthook = lambda *a: sys.exit(8)\n1 / 0")
        self.assertEqual((result["outcome"], result["exit_code"]), ("exit", 8))
