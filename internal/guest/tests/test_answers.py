"""What a program is told that failed: its own lines, and one sentence on what the surroundings have to do with it."""

from __future__ import annotations

import re
import sys
import textwrap
import unittest
from typing import Any

from harness import Guest, finish

_LIBRARY = re.compile(r"^  … (\d+) library frames?(, the last)?: ([\w./]+), line \d+, in [\w.<>]+ …$", re.M)


class TestAnswer(unittest.TestCase):
    maxDiff = None

    def hint(self, source: str, **how: Any) -> str:
        """Run a program that fails, and return its hint, which has to be the last line of stderr too."""
        result, _, stderr = finish(textwrap.dedent(source), isolated=how.pop("isolated", True), **how)
        hint: str = result["exception"].get("hint", "")
        self.assertEqual(result["exception"]["text"], stderr)
        lines = [line for line in stderr.splitlines() if line.startswith("hint: ")]
        self.assertEqual(lines, [f"hint: {hint}"] if hint else [])
        self.assertEqual(hint != "", stderr.splitlines()[-1].startswith("hint: "))
        return hint


class TestFrames(TestAnswer):
    def failing(self, source: str) -> tuple[dict[str, Any], str]:
        result, _, stderr = finish(textwrap.dedent(source))
        return result["exception"], stderr

    def test_frames_of_libraries_are_one_line(self) -> None:
        exception, stderr = self.failing("import re\nre.compile('(')")
        self.assertTrue(
            stderr.startswith('Traceback (most recent call last):\n  File "<cell>", line 2, in <module>')
        )
        found = _LIBRARY.search(stderr)
        assert found is not None
        self.assertGreater(int(found[1]), 1)
        self.assertRegex(found[3], r"^(re/_parser|sre_parse)\.py$")
        self.assertEqual(stderr.count('  File "'), 1)
        self.assertEqual(len(exception["traceback"]), 1)

    def test_files_of_the_workspace_are_the_programs_own(self) -> None:
        source = """
            open("helper.py", "w").write("def half(n):\\n    return 1 / n\\n")
            import functools, helper
            functools.reduce(lambda a, b: helper.half(b), [1, 0])
            """
        exception, stderr = self.failing(source)
        self.assertIn('helper.py", line 2, in half\n    return 1 / n\n', stderr)
        self.assertEqual((len(exception["traceback"]), exception["line"]), (3, 4))

    def test_code_that_was_given_to_exec_is_the_programs_own(self) -> None:
        exception, stderr = self.failing("exec('def f():\\n  1 / 0')\nf()")
        self.assertIn('File "<string>", line 2, in f', stderr)
        self.assertEqual((len(exception["traceback"]), exception["line"]), (2, 2))

    def test_every_link_of_a_chain_is_cut(self) -> None:
        source = """
            import json
            try:
                json.loads("{")
            except ValueError as error:
                try:
                    json.loads("[")
                except ValueError:
                    raise RuntimeError("gave up") from error
            """
        _, stderr = self.failing(source)
        self.assertIn("\nThe above exception was the direct cause of the following exception:\n", stderr)
        self.assertEqual(len(_LIBRARY.findall(stderr)), 1)
        self.assertEqual(stderr.count('  File "<cell>"'), 2)

    @unittest.skipIf(sys.version_info < (3, 11), "exception groups came with Python 3.11")
    def test_every_member_of_a_group_is_cut(self) -> None:
        source = """
            import asyncio, json
            async def bad(): json.loads("{")
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(bad())
                tasks.create_task(bad())
            """
        _, stderr = self.failing(source)
        self.assertNotIn("gearbox_guest", stderr)
        self.assertEqual(stderr.count("library frames, the last: json/decoder.py"), 2)
        self.assertEqual(stderr.count("JSONDecodeError"), 2)

    def test_a_failure_in_a_thread_is_cut_and_explained(self) -> None:
        source = """
            import threading
            def work(): open("/no/such/file")
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            """
        _, _, stderr = finish(textwrap.dedent(source), isolated=True)
        self.assertTrue(
            stderr.startswith("Exception in thread Thread-1 (work):\nTraceback (most recent call last):\n")
        )
        self.assertEqual(stderr.count('  File "'), 1)
        self.assertIn(
            "\nhint: the sandbox shows of the host's files only those that a rule names: pass", stderr
        )

    def test_tools_that_list_the_stack_begin_at_the_program(self) -> None:
        source = """
            import inspect, sys, traceback
            def f(): return traceback.extract_stack(), inspect.stack(), traceback.format_stack()
            traceback.print_stack(file=sys.stdout)
            [[len(part) for part in f()], traceback.extract_stack(limit=1)[0].lineno]
            """
        result, stdout, _ = finish(textwrap.dedent(source))
        self.assertEqual(result["value"], [[2, 2, 2], 5])
        self.assertEqual(
            stdout, '  File "<cell>", line 4, in <module>\n    traceback.print_stack(file=sys.stdout)\n'
        )


class TestImports(TestAnswer):
    def test_the_package_of_a_missing_module_is_named(self) -> None:
        for statement, package in (
            ("import cv2", "opencv-python"), ("import sklearn", "scikit-learn"), ("from PIL import Image", "Pillow"),
            ("import yaml", "PyYAML"), ("import bs4", "beautifulsoup4"), ("import Crypto.Cipher", "pycryptodome"),
            ("import google.protobuf.message", "protobuf"), ("from google.cloud import bigquery", "google-cloud-bigquery"),
            ("import requests", "requests"), ("import urllib3", "urllib3"),
        ):  # fmt: skip
            with self.subTest(statement):
                hint = self.hint(statement, isolated=False)
                self.assertIn(package, hint)
                self.assertIn("is not installed, and packages cannot be installed in this version.", hint)
                self.assertIn("--python ENV", hint)

    def test_what_is_no_package_is_not_called_one(self) -> None:
        for statement, expected in (
            ("import distutils.core", "distutils is no longer in the standard library of Python 3."),
            ("import cPickle", "use pickle"), ("import winreg", "exists on another operating system only"),
            ("import jsn", "there is no module jsn; did you mean json?"),
            ("import Random", "there is no module Random; did you mean random?"),
            ("import json.nothing", "the standard library has json, but no json.nothing"),
            ("open('reporting.py', 'w').close()\nimport reportin", "did you mean reporting?"),
        ):  # fmt: skip
            if sys.version_info < (3, 12) and "distutils" in statement:
                continue
            with self.subTest(statement):
                hint = self.hint(statement)
                self.assertIn(expected, hint)
                self.assertNotIn("--python", hint)

    def test_a_library_that_asks_for_pip_is_answered(self) -> None:
        hint = self.hint("raise ImportError('Missing optional dependency. Use pip or conda to install it.')")
        self.assertIn("packages cannot be installed in this version", hint)

    def test_an_import_that_was_tried_and_given_up_is_no_cause(self) -> None:
        self.assertEqual(self.hint("try:\n    import cv2\nexcept ImportError:\n    1 / 0"), "")


class TestFiles(TestAnswer):
    def test_a_missing_file_is_told_what_is_there(self) -> None:
        hint = self.hint("for n in ('b', 'a'): open(n + '.csv', 'w').close()\nopen('/home/me/data.txt')")
        self.assertIn(
            "of the host's files only those that a rule names: pass the file in the argument files", hint
        )
        self.assertIn("--allow 'read(/home/me/data.txt)'", hint)
        self.assertNotIn("--allow", self.hint("open('/home/me/*.txt')"))
        self.assertRegex(hint, r"The working directory is /\S+ and holds a\.csv, b\.csv\.$")

    def test_a_near_name_is_suggested(self) -> None:
        self.assertRegex(
            self.hint("open('sales_2026.csv', 'w').close()\nopen('Sales_2026.csv')"),
            r"^did you mean /\S+/sales_2026\.csv\?",
        )
        self.assertRegex(
            self.hint("open('data.csv', 'w').close()\nopen('/mnt/uploads/data.csv')"),
            "^did you mean data.csv, in the working directory[?]",
        )

    def test_a_missing_directory_is_named(self) -> None:
        self.assertRegex(
            self.hint("open('out/x.txt', 'w')"), r"^there is no directory /\S+/out: make it with os\.makedirs"
        )

    def test_many_and_odd_names_stay_on_one_line(self) -> None:
        source = (
            "for i in range(50): open(f'{i:02}.txt', 'w').close()\nopen('00\\n.txt', 'w').close()\nopen('q')"
        )
        hint = self.hint(source)
        self.assertIn("'00\\n.txt', 00.txt, 01.txt", hint)
        self.assertTrue(hint.endswith("18.txt and 31 more."), hint)

    def test_refusals_are_explained(self) -> None:
        for errno_name, expected in (
            ("EROFS", "/usr/x is read-only here: write below /"),
            ("EACCES", "the sandbox does not permit this on /usr/x: it shows"),
            ("EPERM", "the sandbox refuses this system call, whatever the gear"),
            ("ENOSYS", "the sandbox refuses this system call, whatever the gear"),
        ):
            source = f"import errno\nraise OSError(errno.{errno_name}, 'no', '/usr/x')"
            self.assertTrue(self.hint(source).startswith(expected), errno_name)
            self.assertEqual(self.hint(source, isolated=False), "")

    def test_a_variable_of_the_host_is_explained(self) -> None:
        hint = self.hint("import os\nos.environ['API_KEY']")
        self.assertIn("pass the value in the argument variables", hint)
        self.assertIn("--allow 'env(API_KEY)'", hint)
        self.assertEqual(self.hint("{}['API_KEY']"), "")

    def test_odd_exceptions_do_no_harm(self) -> None:
        for source in (
            "class E(OSError):\n    filename = property(lambda s: 1 / 0)\nraise E(2, 'x')",
            "e = FileNotFoundError(2, 'x')\ne.filename = object()\nraise e",
            "e = ModuleNotFoundError('x')\ne.name = 7\nraise e",
            "e = OSError(1, 'x')\ne.__cause__ = e\nraise e from e",
            "class E(Exception):\n    @property\n    def exceptions(self): raise SystemExit\nraise E",
        ):
            with self.subTest(source):
                result, _, _ = finish(source, isolated=True)
                self.assertEqual(result["outcome"], "exception")


class TestInput(TestAnswer):
    def test_input_without_stdin_is_explained(self) -> None:
        self.assertIn("pass what input() is to read in the argument stdin", self.hint("input()"))
        self.assertEqual(self.hint("raise EOFError('mine')"), "")

    def test_a_coroutine_as_the_value_is_a_warning(self) -> None:
        result, _, stderr = finish("async def f(): print('ran')\nf()")
        self.assertEqual((result["outcome"], result["value_type"], stderr), ("ok", "coroutine", ""))
        self.assertEqual(len(result["warnings"]), 1)
        self.assertIn("write await before it", result["warnings"][0])

    def test_an_own_excepthook_has_the_last_word(self) -> None:
        result, _, stderr = finish("import sys\nsys.excepthook = lambda *a: None\nimport cv2")
        self.assertEqual(stderr, "")
        self.assertIn("opencv-python", result["exception"]["hint"])


# Fails without asking a name server.
_LOOK_UP = "socket.getaddrinfo('name.invalid', 443, flags=socket.AI_NUMERICHOST)"


class TestRefusals(TestAnswer):
    def test_a_refused_connection_names_its_permission(self) -> None:
        for source, permission in (
            (_LOOK_UP, "net(name.invalid:443)"),
            ("socket.create_connection(('127.0.0.1', 1))", "net(127.0.0.1:1)"),
            ("socket.socket(socket.AF_INET6).connect(('::1', 1))", "net([::1]:1)"),
        ):
            hint = self.hint(f"import socket\n{source}")
            self.assertTrue(hint.startswith("the sandbox has no network, not even a loopback"), hint)
            self.assertIn(f"this needs {permission}, which this version cannot grant", hint)

    def test_a_socket_that_is_refused_is_explained_by_the_name_that_was_looked_up(self) -> None:
        refused = textwrap.dedent("""
            import errno, socket
            class Refused(socket.socket):
                def __init__(self, *_): raise OSError(errno.EAFNOSUPPORT, "Address family not supported")
            """)
        looked_up = "socket.socket = Refused\nsocket.create_connection(('127.0.0.1', 80))"
        self.assertIn("this needs net(127.0.0.1:80)", self.hint(refused + looked_up))
        self.assertTrue(
            self.hint(refused + "Refused()").startswith(
                "the sandbox has no network, not even a loopback. Fetch the data outside"
            )
        )

    def test_a_cause_counts_as_the_exception_does(self) -> None:
        hint = self.hint(
            f"import socket\ntry:\n    {_LOOK_UP}\nexcept OSError as e:\n    raise RuntimeError('x') from e"
        )
        self.assertIn("net(name.invalid:443)", hint)

    def test_a_refusal_that_the_program_swallows_is_in_the_answer(self) -> None:
        result, _, _ = finish(
            f"import socket\ntry:\n    {_LOOK_UP}\nexcept OSError:\n    pass", isolated=True
        )
        self.assertEqual((result["outcome"], result["denied"]), ("ok", ["net(name.invalid:443)"]))

    def test_a_program_that_is_absent_names_its_permission(self) -> None:
        result, _, _ = finish("import subprocess\nsubprocess.run(['no-such-tool', '-x'])", isolated=True)
        self.assertEqual(result["denied"], ["run(no-such-tool)"])
        self.assertIn("does not grant run(no-such-tool)", result["exception"]["hint"])
        self.assertIn("run(no-such)", self.hint("import os\nos.execv('/usr/bin/no-such', ['x'])"))

    def test_a_program_that_is_there_is_no_refusal(self) -> None:
        result, _, _ = finish(
            "import os, subprocess\nsubprocess.run(['true'])\nos.system('true')", isolated=True
        )
        self.assertNotIn("denied", result)

    def test_one_attempt_does_not_explain_another_failure(self) -> None:
        source = """
            import subprocess
            try: subprocess.run(["no-such-tool"])
            except OSError: pass
            open("missing.txt")
            """
        self.assertNotIn("no-such-tool", self.hint(source))

    def test_what_is_told_is_bounded_and_printable(self) -> None:
        source = """
            import socket
            for host in [f"h{n}" for n in range(100)] + ["a\\nb", "x" * 1000, 7, object(), b"\\xff"]:
                try: socket.getaddrinfo(host, 1, flags=socket.AI_NUMERICHOST)
                except Exception: pass
            """
        result, _, stderr = finish(textwrap.dedent(source), isolated=True)
        self.assertEqual((result["denied"], stderr), ([f"net(h{n}:1)" for n in range(32)], ""))

    def test_replaced_functions_do_not_break_the_program(self) -> None:
        source = """
            import os, posixpath, socket, subprocess, sys
            os.access = posixpath.basename = sys._getframe = None
            try: subprocess.run(["no-such-tool"])
            except OSError: print("as ever")
            """
        result, stdout, _ = finish(textwrap.dedent(source), isolated=True)
        self.assertEqual((result["outcome"], stdout), ("ok", "as ever\n"))

    def test_without_a_sandbox_nothing_is_watched(self) -> None:
        with Guest() as guest:
            guest.analyse(f"import socket\n{_LOOK_UP}")
            ended = guest.run()
        assert ended.result is not None
        self.assertNotIn("denied", ended.result)
        self.assertNotIn("hint", ended.result["exception"])
