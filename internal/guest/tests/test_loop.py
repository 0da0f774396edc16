"""The conversation with the host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest

from gearbox_guest import bridge
from harness import Guest, finish


class TestConversation(unittest.TestCase):
    def test_hello_tells_protocol_and_version(self) -> None:
        with Guest() as guest:
            self.assertEqual(guest.hello.kind, bridge.HELLO)
            self.assertEqual(guest.hello.head["protocol"], 1)
            self.assertEqual(
                guest.hello.head["python"].split(".")[:2], [str(n) for n in sys.version_info[:2]]
            )

    def test_answers_carry_the_id_of_the_question(self) -> None:
        with Guest() as guest:
            guest.stream.write_frame(bridge.ANALYSE, 77, {"language": "python"}, b"1")
            self.assertEqual(guest.read()[:2], (bridge.FACTS, 77))
            guest.stream.write_frame(bridge.ARM, 78, {})
            self.assertEqual(guest.read()[:3], (bridge.ARM, 78, {"error": ""}))
            guest.stream.write_frame(bridge.RUN, 79, {})
            self.assertEqual(guest.read()[:2], (bridge.RESULT, 79))

    def test_arm_may_come_before_analyse(self) -> None:
        with Guest() as guest:
            self.assertEqual(guest.ask(bridge.ARM, {}).head, {"error": ""})
            guest.analyse("6 * 7")
            ended = guest.run()
            assert ended.result is not None
            self.assertEqual(ended.result["value"], 42)

    def test_run_before_analyse_is_an_exception(self) -> None:
        with Guest() as guest:
            ended = guest.run()
            assert ended.result is not None
            self.assertEqual(ended.result["outcome"], "exception")
            self.assertIn("run came before analyse", ended.result["exception"]["message"])
            self.assertEqual(ended.stderr, ended.result["exception"]["text"])

    def test_source_that_does_not_parse_or_compile_is_a_failure(self) -> None:
        for source, shown in (
            ("x = = 1", "    x = = 1\n        ^\n"),
            ("if 1:\n  return 3", "    return 3\n    ^^^^^^^^\n"),
        ):
            with Guest() as guest:
                failure = guest.analyse(source)["failure"]
                self.assertEqual(failure["class"], "SyntaxError")
                self.assertIn(shown, failure["text"])
                self.assertEqual(failure["line"], source.count("\n") + 1)
                ended = guest.run()
                assert ended.result is not None
                self.assertEqual(ended.result["exception"], failure)

    def test_source_that_is_taken_unread_is_judged_when_it_runs(self) -> None:
        for source, outcome, shown in (
            ("print(1 is 1)", "ok", "<cell>:1: SyntaxWarning"),
            ("x = = 1", "exception", "SyntaxError: invalid syntax"),
            ("return 3", "exception", "SyntaxError: 'return' outside function"),
        ):
            with self.subTest(source), Guest() as guest:
                skip = {"language": "python", "skip": True}
                facts = guest.ask(bridge.ANALYSE, skip, source.encode()).head
                self.assertEqual(facts, {"facts": []})
                ended = guest.run()
                assert ended.result is not None
                self.assertEqual(ended.result["outcome"], outcome)
                self.assertIn(shown, ended.stderr)

    def test_only_one_program_runs(self) -> None:
        with Guest() as guest:
            guest.analyse("print('once')")
            for _ in range(3):
                guest.send(bridge.RUN, {})
            self.assertEqual(guest.read().kind, bridge.RESULT)
            guest.send(bridge.ANALYSE, {}, b"2")
            assert guest.process.stdout is not None
            self.assertEqual(guest.process.stdout.readline(), b"once\n")
            guest.process.kill()
            self.assertEqual(guest.process.stdout.read(), b"")

    def test_the_guest_waits_to_be_killed_after_its_result(self) -> None:
        with Guest() as guest:
            guest.analyse("1")
            guest.send(bridge.RUN, {})
            guest.read()
            self.assertIsNone(guest.process.poll())

    def test_what_the_program_left_running_does_not_end_the_wait(self) -> None:
        with Guest() as guest:
            guest.analyse("import signal\nsignal.signal(signal.SIGUSR1, lambda *_: 1 / 0)\nx = 1")
            guest.send(bridge.RUN, {})
            guest.read()
            for _ in range(3):
                guest.process.send_signal(signal.SIGUSR1)
            guest.close_writing()
            with self.assertRaises(EOFError):
                guest.read()
            self.assertEqual(guest.process.communicate(), (b"", b""))
            self.assertEqual(guest.process.returncode, 0)

    def test_after_a_frame_of_an_unknown_kind_nothing_is_answered(self) -> None:
        with Guest() as guest:
            guest.send(bridge.DISPLAY, {})
            guest.send(bridge.ANALYSE, {}, b"1")
            guest.close_writing()
            with self.assertRaises(EOFError):
                guest.read()

    def test_the_guest_ends_with_the_bridge(self) -> None:
        with Guest() as guest:
            guest._socket.close()
            self.assertEqual(guest.process.wait(), 0)


class TestArm(unittest.TestCase):
    def test_files_are_written_below_the_workspace(self) -> None:
        with Guest() as guest:
            files = [
                {"path": "a/b/c.txt", "size": 3},
                {"path": "empty", "size": 0},
                {"path": "naïve.bin", "size": 2},
            ]
            self.assertEqual(guest.ask(bridge.ARM, {"files": files}, b"abc\xff\x00").head, {"error": ""})
            for name, data in (("a/b/c.txt", b"abc"), ("empty", b""), ("naïve.bin", b"\xff\x00")):
                with open(os.path.join(guest.workspace, name), "rb") as file:
                    self.assertEqual(file.read(), data)

    def test_paths_that_lead_out_are_refused(self) -> None:
        for path in ("../x", "/etc/x", "a/../../x", "", ".", "a/", "a//b", "./a", "a\0b"):
            with self.subTest(path), Guest() as guest:
                error = guest.ask(bridge.ARM, {"files": [{"path": path, "size": 1}]}, b"x").head["error"]
                self.assertIn("ValueError", error)
                self.assertEqual(os.listdir(guest.workspace), [])

    def test_links_that_lead_out_are_refused(self) -> None:
        with Guest() as guest, Guest() as other:
            os.symlink(other.workspace, os.path.join(guest.workspace, "link"))
            self.assertIn(
                "leads out",
                guest.ask(bridge.ARM, {"files": [{"path": "link/x", "size": 1}]}, b"x").head["error"],
            )
            self.assertEqual(os.listdir(other.workspace), [])
        with Guest() as guest:
            os.symlink("/dev/null", os.path.join(guest.workspace, "file"))
            self.assertIn(
                "OSError", guest.ask(bridge.ARM, {"files": [{"path": "file", "size": 1}]}, b"x").head["error"]
            )

    def test_sizes_have_to_fit_the_body(self) -> None:
        for sizes in ([2], [0], [5, -4], [True], ["1"], [None]):
            with self.subTest(sizes), Guest() as guest:
                files = [{"path": f"f{i}", "size": s} for i, s in enumerate(sizes)]
                self.assertNotEqual(guest.ask(bridge.ARM, {"files": files}, b"x").head["error"], "")

    def test_environment_and_limits_are_in_force(self) -> None:
        result, _, _ = finish(
            "import os, resource, time\n[os.environ['A'], resource.getrlimit(resource.RLIMIT_NOFILE)[0], time.tzname[0]]",
            arm={"environment": {"A": "é", "TZ": "XYZ-3"}, "limits": {"open_files": 60}},
        )
        self.assertEqual(result["value"], ["é", 60, "XYZ"])

    def test_what_cannot_be_put_in_force_is_an_error(self) -> None:
        with Guest() as guest:
            self.assertIn("cannot refuse programs", guest.ask(bridge.ARM, {"no_exec": True}).head["error"])
            self.assertEqual(guest.ask(bridge.ARM, {}).head["error"], "already armed")


class TestBridgeInTheProgram(unittest.TestCase):
    def test_subprocesses_do_not_inherit_it(self) -> None:
        source = """
import os, subprocess, sys
script = "import os\\nfor n in range(3, 4096):\\n try: os.fstat(n); print(n)\\n except OSError: pass"
subprocess.run([sys.executable, "-I", "-S", "-c", script], close_fds=False)
"""
        self.assertEqual(finish(source)[1:], ("", ""))

    def test_forked_copies_do_not_hold_it(self) -> None:
        source = """
import os, stat
def sockets():
    found = 0
    for fd in range(3, 4096):
        try:
            found += stat.S_ISSOCK(os.fstat(fd).st_mode)
        except OSError:
            pass
    return found
print(sockets())
pid = os.fork()
if pid == 0:
    print(sockets())
    os._exit(0)
os.waitpid(pid, 0)
x = 1
"""
        self.assertEqual(finish(source)[1:], ("1\n0\n", ""))


class TestSignalsAtTheEnd(unittest.TestCase):
    HANDLED = """
import atexit, signal, threading
class Late(Exception): pass
def late(*_): raise Late('too late')
signal.signal(signal.SIGALRM, late)
"""

    def test_a_handler_that_raises_after_the_exit_handlers_does_no_harm(self) -> None:
        # The timer is set when the object goes, and fires in code of the guest.
        for due in ("2e-5", "3e-5", "4e-5", "6e-5", "1e-4", "2e-5, 2e-5"):
            source = f"""
class A:
    def __del__(self, begin=signal.setitimer, which=signal.ITIMER_REAL): begin(which, {due})
a = A()
a.me = a
del a
print('done')
"""
            with self.subTest(due):
                result, stdout, stderr = finish(self.HANDLED + source)
                self.assertEqual((result["outcome"], stdout, stderr), ("ok", "done\n", ""))

    def test_an_interrupt_after_the_exit_handlers_does_no_harm(self) -> None:
        # Another process sends it, when the object goes and while the guest makes the result.
        source = """
import os, signal
r, w = os.pipe()
parent = os.getpid()
if os.fork() == 0:
    for fd in range(3): os.close(fd)
    os.read(r, 1)
    for _ in range(100): os.kill(parent, signal.SIGINT)
    os._exit(0)
class A:
    def __del__(self, write=os.write): write(w, b'.')
a = A()
a.me = a
del a
print('done')
"""
        for _ in range(10):
            result, stdout, stderr = finish(source)
            self.assertEqual((result["outcome"], stdout, stderr), ("ok", "done\n", ""))

    def test_a_handler_that_raises_at_the_very_end_is_the_programs(self) -> None:
        for _ in range(20):
            result, stdout, _ = finish(
                self.HANDLED + "print('done')\nsignal.setitimer(signal.ITIMER_REAL, 1e-6)"
            )
            self.assertEqual(stdout, "done\n")
            if result["outcome"] != "ok":
                self.assertEqual(result["exception"]["class"], "Late")

    def test_a_handler_that_raises_after_the_last_line_costs_no_exit_handler_and_no_output(self) -> None:
        # It fires while the guest reads the value, before the exit handlers, and there. One call in C is not interrupted.
        for due in ["1e-6", "1e-5", "2e-5", "3e-5", "5e-5", "8e-5"] * 4:
            source = f"""
import os
atexit.register(os.write, 1, b'bye')
print('done', end='')
signal.setitimer(signal.ITIMER_REAL, {due})
"""
            with self.subTest(due):
                _, stdout, _ = finish(self.HANDLED + source)
                self.assertEqual(stdout, "byedone")

    def test_exit_handlers_may_be_interrupted(self) -> None:
        source = """
def bye():
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try: threading.Event().wait()
    except Late: print('in time')
atexit.register(bye)
"""
        result, stdout, _ = finish(self.HANDLED + source)
        self.assertEqual((result["outcome"], stdout), ("ok", "in time\n"))

    def test_a_thread_may_wait_for_a_signal_after_the_last_line(self) -> None:
        source = """
rung = threading.Event()
signal.signal(signal.SIGALRM, lambda *_: rung.set())
def wait():
    rung.wait()
    print('rung')
threading.Thread(target=wait).start()
signal.setitimer(signal.ITIMER_REAL, 0.01)
"""
        result, stdout, _ = finish(self.HANDLED + source)
        self.assertEqual((result["outcome"], stdout), ("ok", "rung\n"))


class TestWarm(unittest.TestCase):
    def test_warming_leaves_no_trace(self) -> None:
        script = """
import atexit, gc, linecache, logging, multiprocessing.util, os, signal, sys, threading, warnings
sys.path.insert(0, sys.argv[1])
from gearbox_guest import loop
loop.warm(2)  # the first time loads libraries
def state():
    fds = [n for n in range(256) if os.path.exists(f"/dev/fd/{n}")]
    return [sorted(sys.modules), dict(linecache.cache), sys.stdin, sys.stdout, sys.stderr, sys.argv, fds,
            dict(os.environ), os.getcwd(), warnings.filters[:], id(sys.modules["__main__"]), sys.path[:], os.listdir("."),
            sys.__stdin__, sys.__stdout__, sys.__stderr__, threading.excepthook, signal.pthread_sigmask(signal.SIG_BLOCK, ()),
            signal.getitimer(signal.ITIMER_PROF), atexit._ncallbacks(), logging._handlerList[:], multiprocessing.util._exiting,
            gc.isenabled(), object.__subclasses__()]
before = state()
for rounds in (2, 1):  # as in the process that children are forked from, and as in a child
    loop.warm(rounds)
    assert state() == before, [(a, b) for a, b in zip(before, state()) if a != b]
print("same")
"""
        package = os.path.dirname(os.path.dirname(bridge.__file__))
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", "-c", script, package], capture_output=True, text=True
        )
        self.assertEqual((done.stdout, done.stderr), ("same\n", ""))
