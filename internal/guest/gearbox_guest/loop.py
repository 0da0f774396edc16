"""The guest's side of the conversation that the bridge's specification lays down.

One process serves one program: hello, analyse, arm, run, result, and then it waits to be killed.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ast
import functools
import gc
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from . import analyser, bridge, cell, frames, hints, own, report, shell, silence, tools_import, values

__builtins__ = own.BUILTINS  # type: ignore[assignment]

silence.keep()

PROTOCOL = 1
ANALYSIS_SECONDS = 0.25
ABILITIES = ("analyse", "arm", "run")

_HELLO = {"protocol": PROTOCOL, "python": platform.python_version(), "abilities": list(ABILITIES)}
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Bound when the module is loaded: a program may replace the attributes of os.
_getpid, _exit = os.getpid, os._exit
_set_timer, _TIMER = _signal.setitimer, _signal.ITIMER_PROF
# The module signal wraps these in Python.
_mask, _BLOCK, _SIGNALS = _signal.pthread_sigmask, _signal.SIG_BLOCK, _signal.valid_signals()

# What parsing and compiling raise for source that is no program.
_NO_PROGRAM = (SyntaxError, ValueError, RecursionError, MemoryError)

Narrow = Callable[[dict[str, Any]], None]
Execute = Callable[[cell.Program, dict[str, Any], hints.Surroundings], dict[str, Any]]


def serve(
    read_fd: int,
    write_fd: int,
    narrow: Narrow,
    workspace: str,
    site_path: list[str],
    *,
    open_files: int = 0,
    no_fork: bool = False,
    no_exec: bool = False,
) -> NoReturn:
    """Speak with the host until it kills this process or closes the bridge.

    narrow puts the arm frame's limits, no_fork and no_exec in force and raises OSError when it cannot. no_fork and
    no_exec tell of what is in force already. open_files, unless 0, is put in force once the bridge has moved out of the
    program's way.
    """
    stream = bridge.Stream(read_fd, write_fd)
    stream.move_away()
    if open_files:
        narrow({"limits": {"open_files": open_files}})
    _settle(workspace, site_path)
    tools_import.offer(stream)
    # A forked copy of the program must neither speak for it nor keep the bridge open.
    os.register_at_fork(after_in_child=stream.close)
    try:
        Guest(stream, narrow, workspace, site_path, no_fork, no_exec).converse()
    except (bridge.ProtocolError, OSError):
        pass
    # The host closed the bridge: nobody is left to end this process.
    _exit(0)


def warm(rounds: int) -> None:
    """Run typical code against throw-away streams, so that caches are filled and pages touched. It leaves no trace.

    The first call imports what programs often import; it is meant for the process that children are forked from.
    """
    from . import warmup  # not paid for by a process that never warms up

    _furnish()
    warmup.run(rounds)


class Guest:
    """The state of one conversation. execute is given the program when it is to run."""

    def __init__(
        self,
        stream: bridge.Stream,
        narrow: Narrow,
        workspace: str,
        site_path: list[str],
        no_fork: bool,
        no_exec: bool,
        execute: Execute = cell.execute,
    ) -> None:
        self._stream = stream
        self._execute = execute
        self._narrow = narrow
        self._workspace = workspace
        self._site_path = site_path
        self._pid = os.getpid()
        self._source: str | None = None
        self._language: object = None
        self._program: cell.Program | None = None
        self._failure: dict[str, Any] | None = None
        self._armed = False
        self._restrictions: dict[str, Any] = {"no_fork": no_fork, "no_exec": no_exec}

    def converse(self) -> None:
        """Answer frames until the stream ends. After the result, and after a frame of an unknown kind, only wait."""
        self._stream.write_frame(bridge.HELLO, 0, _HELLO)
        gc.disable()
        while True:
            # What the guest made until now is not the program's: no search for its garbage goes through it.
            gc.freeze()
            if self._program is not None:
                self._program.prepare()  # while the host decides whether it may run
            frame = self._stream.read_frame()
            if frame is None:
                return
            self.answer(frame)
            if frame.kind not in _ANSWERS or frame.kind == bridge.RUN:
                self._park()

    def answer(self, frame: bridge.Frame) -> None:
        """Answer one frame of the host. One of an unknown kind has no answer."""
        if frame.kind in _ANSWERS:
            _ANSWERS[frame.kind](self, frame)

    def _analyse(self, frame: bridge.Frame) -> None:
        try:
            self._source = source = frame.body.decode()
        except UnicodeDecodeError:
            raise bridge.ProtocolError("the source is not UTF-8") from None
        self._program, self._failure = None, None
        self._language = frame.head.get("language")
        if self._language == shell.LANGUAGE or frame.head.get("skip") is True:
            # The host parses it, or has given up on that.
            self._stream.write_frame(bridge.FACTS, frame.id, {"facts": []})
            return
        # Hostile source can keep the parser busy for longer than anybody wants to wait, and no Python handler
        # would get a turn meanwhile: the kernel ends this process. Processor time is what counts, so that honest
        # source on a busy machine is left alone.
        _set_timer(_TIMER, ANALYSIS_SECONDS)
        facts = self._report(source)
        _set_timer(_TIMER, 0)
        self._stream.write_frame(bridge.FACTS, frame.id, facts)

    def _report(self, source: str) -> dict[str, Any]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tree, facts = analyser.analyse(source)
            self._failure = facts.get("failure")
            if tree is not None and self._failure is None:
                self._compile(source, tree, caught)
                if self._failure is not None:
                    facts = {**facts, "failure": self._failure}
        return facts

    def _compile(self, source: str, tree: ast.Module, caught: list[warnings.WarningMessage]) -> None:
        """Compiling finds the errors that parsing leaves, such as a return outside a function."""
        try:
            self._program = cell.Program(source, tree, caught)
        except _NO_PROGRAM as exc:
            self._failure = _describe_bare(exc)

    def _compile_unread(self, source: str) -> None:
        """Take source that was not analysed."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                tree = ast.parse(source, report.FILENAME)
            except _NO_PROGRAM as exc:
                self._failure = _describe_bare(exc)
            else:
                self._compile(source, tree, caught)

    def _arm(self, frame: bridge.Frame) -> None:
        error = "already armed" if self._armed else ""
        self._armed = True
        try:
            if not error:
                self._put_in_force(frame)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
            error = f"{type(exc).__name__}: {exc}"
        self._stream.write_frame(bridge.ARM, frame.id, {"error": error})

    def _put_in_force(self, frame: bridge.Frame) -> None:
        """Files come first: a limit that is in force might refuse them."""
        head = frame.head
        _write_files(self._workspace, head.get("files") or [], frame.body)
        os.environ.update(head.get("environment") or {})
        if "TZ" in (head.get("environment") or {}):
            time.tzset()
        narrower = {
            "limits": head.get("limits") or {},
            "no_fork": head.get("no_fork") is True,
            "no_exec": head.get("no_exec") is True,
        }
        self._narrow(narrower)
        for name in ("no_fork", "no_exec"):
            self._restrictions[name] = self._restrictions[name] or narrower[name]

    def _run(self, frame: bridge.Frame) -> None:
        gc.enable()
        try:
            head = self._end_of(frame.head)
        except BaseException as exc:  # noqa: BLE001 - the program replaced what the guest itself needs
            head = _raised_late(exc, self._workspace) or _broken(exc)
        if _getpid() != self._pid:
            # A copy that the program forked and that fell off its end: it exits as any process would.
            _exit(head["exit_code"])
        # From here on no handler of the program may interfere; threads of it still may.
        _mask(_BLOCK, _SIGNALS)
        try:
            self._stream.write_frame(bridge.RESULT, frame.id, head)
        except OSError:
            # The program closed the bridge. Its exit code still says how it ended.
            _exit(head["exit_code"])
        except BaseException:  # noqa: BLE001 - as above, and now nothing is left to answer with
            _exit(head["exit_code"] or 1)

    def _park(self) -> NoReturn:
        """Wait to be killed. A thread of the program may still interrupt this one."""
        while True:
            try:
                if self._stream.read_frame() is None:
                    _exit(0)
            except (bridge.ProtocolError, OSError):
                _exit(0)
            except BaseException:  # noqa: BLE001
                continue

    def _end_of(self, run: dict[str, Any]) -> dict[str, Any]:
        """Run the program, and tell in the head of the result frame how it ended."""
        if self._language == shell.LANGUAGE and self._source is not None:
            # Outside a sandbox python3 is whichever the operator has, with packages of its own.
            packages = self._site_path if run.get("isolated") is True else []
            try:
                shell.become(self._source, run.get("variables") or {}, self._workspace, packages)
            except (OSError, ValueError) as exc:
                self._failure = _describe_bare(exc)
        if self._program is None and self._failure is None and self._source is not None:
            self._compile_unread(self._source)
        program, self._program = self._program, None
        if program is not None:
            return self._execute(program, run.get("variables") or {}, self._surroundings(run))
        failure = self._failure or _describe_bare(RuntimeError("run came before analyse"))
        sys.stderr.write(failure.get("text", ""))
        sys.stderr.flush()
        return {"outcome": "exception", "exit_code": 1, "exception": failure}

    def _surroundings(self, run: dict[str, Any]) -> hints.Surroundings:
        return hints.Surroundings(
            workspace=self._workspace,
            isolated=run.get("isolated") is True,
            forks=not self._restrictions["no_fork"],
            programs=not self._restrictions["no_exec"],
        )


_ANSWERS = {bridge.ANALYSE: Guest._analyse, bridge.ARM: Guest._arm, bridge.RUN: Guest._run}


@functools.cache
def _furnish() -> None:
    """Give the interpreter what programs find in every one. Children need not, whose parent did before it forked them."""
    cell.add_site_builtins()
    cell.prefer_fork()
    frames.hide_guest()


def _settle(workspace: str, site_path: list[str]) -> None:
    """Give the program the surroundings of a script that lies in the workspace."""
    _furnish()
    kept = [p for p in sys.path if p not in ("", _HOME)]
    sys.path[:] = [workspace, *kept, *(p for p in site_path if p not in kept)]
    os.chdir(workspace)
    _fresh_signals()
    cell.keep_reserve()
    cell.open_streams()


def _fresh_signals() -> None:
    """Begin with the signals of a fresh interpreter: a server under nohup passes on what it ignores."""
    for number in _SIGNALS - {_signal.SIGPIPE, _signal.SIGXFSZ}:  # Python ignores these two itself
        if _signal.getsignal(number) == _signal.SIG_IGN:
            _signal.signal(number, _signal.SIG_DFL)
    _signal.signal(_signal.SIGPROF, _signal.SIG_DFL)  # ends an analysis that takes too long


def _write_files(workspace: str, files: list[dict[str, Any]], body: bytes) -> None:
    """Write the files that lie in the body one after the other."""
    if sum(_size(f) for f in files) != len(body):
        raise ValueError("the sizes of the files do not add up to the body")
    root = os.path.realpath(workspace)
    offset = 0
    for entry in files:
        end = offset + _size(entry)
        _write_file(root, entry["path"], memoryview(body)[offset:end])
        offset = end


def _size(entry: dict[str, Any]) -> int:
    size = entry["size"]
    if type(size) is not int or size < 0:
        raise ValueError(f"bad size of a file: {size!r}")
    return size


def _write_file(root: str, path: str, data: memoryview) -> None:
    parts = path.split("/")
    if "\0" in path or any(p in ("", ".", "..") for p in parts):
        raise ValueError(f"{path!r} is not a path below the workspace")
    parent = os.path.join(root, *parts[:-1])
    os.makedirs(parent, exist_ok=True)
    if os.path.realpath(parent) != parent:
        raise ValueError(f"{path!r} leads out of the workspace")
    fd = os.open(
        os.path.join(parent, parts[-1]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666
    )
    with open(fd, "wb") as file:
        file.write(data)


def _describe_bare(exc: Exception) -> dict[str, Any]:
    """Describe an exception that arose before any code of the program ran: its traceback would show only the guest."""
    bare = exc.with_traceback(None)
    bare.__context__ = None
    return report.tell(bare)[0]


def _raised_late(exc: BaseException, workspace: str) -> dict[str, Any] | None:
    """Answer for a program whose signal handler raised between its last line and its exit handlers, as if it had been in that line."""
    last = exc.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_code.co_filename != report.FILENAME or isinstance(exc, SystemExit):
        return None
    try:
        report.cut(exc)
        described, text = report.tell(exc, workspace)
        sys.stderr.write(text)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - the interpreter is broken as well
        return None
    return {"outcome": "exception", "exit_code": 1, "exception": described}


def _broken(exc: BaseException) -> dict[str, Any]:
    """Answer for a program after which the interpreter no longer works, with as little of it as possible."""
    message = f"the program broke the interpreter it ran in: {values.short_name(type(exc))}"
    described = {"class": "SystemError", "message": message, "text": f"SystemError: {message}\n"}
    return {"outcome": "exception", "exit_code": 1, "exception": described}
