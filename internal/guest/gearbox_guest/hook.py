"""An audit hook (PEP 578) that remembers what a program tried and the sandbox does not permit.

It explains and does nothing else: it never refuses, never asks, never grants. The kernel is the wall, and it needs no
help. A program can get around the hook or put words into its mouth; what it says is worth what the program prints.

Only rare events are looked at. Those of imports, opened files, attributes and code objects come by the thousand for one
import of a large package; the hook lets them pass at the price of one look-up.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from . import own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

MAX_DENIED = 32
MAX_LENGTH = 300
_MAX_ATTEMPTS = 64
_ANYWHERE = 0
_MAX_FRAMES = 1000
_add = sys.addaudithook


class Watch(NamedTuple):
    """A hook, and what it tells of: the permissions that were refused, and the one whose refusal an exception reports."""

    hook: Callable[[str, tuple[Any, ...]], None]
    may: Callable[[bool, bool], None]
    denied: Callable[[], list[str]]
    behind: Callable[[BaseException], str]


class _Attempt(NamedTuple):
    permission: str
    code: CodeType
    line: int  # _ANYWHERE: at any line of the code


_Handler = Callable[[tuple[Any, ...], FrameType], None]


def install(watch: Watch, forks: bool, programs: bool) -> None:
    """Install the hook, for good: an interpreter has no way to take one out. forks and programs say what is permitted."""
    watch.may(forks, programs)
    _add(watch.hook)


def rehearse(watch: Watch, forks: bool, programs: bool) -> None:
    """Use the hook, without installing it."""
    watch.may(forks, programs)
    for event in ("import", "os.fork"):
        watch.hook(event, ())


def make() -> Watch:
    """Make a hook. Everything lives in closures, so that replacing a module's attributes changes nothing of it."""
    denied: dict[str, None] = {}
    attempts: deque[_Attempt] = deque(maxlen=_MAX_ATTEMPTS)

    def note(permission: str, frame: FrameType, line: int) -> None:
        if len(permission) > MAX_LENGTH or not permission.isprintable():
            return
        attempts.append(_Attempt(permission, frame.f_code, line))
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(("/", "<frozen")):
            # A function of a library that looks a name up and then fails at the socket.
            attempts.append(_Attempt(permission, caller.f_code, _ANYWHERE))
        if len(denied) < MAX_DENIED:
            denied[permission] = None

    handlers, may = _handlers(note)
    frame_of = sys._getframe

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in handlers:
            try:
                handlers[event](args, frame_of(1))
            except Exception:  # noqa: BLE001 - raising here would refuse what the program does
                return

    return Watch(hook, may, lambda: list(denied), lambda exc: _behind(exc, attempts))


def _behind(exc: BaseException, attempts: deque[_Attempt]) -> str:
    """Find the attempt that was made where the exception passed through. The deepest frame counts first."""
    passed: list[tuple[CodeType, int]] = []
    tb = exc.__traceback__
    while tb is not None and len(passed) < _MAX_FRAMES:
        passed.append((tb.tb_frame.f_code, tb.tb_lineno))
        tb = tb.tb_next
    for code, line in reversed(passed):
        for attempt in reversed(attempts):
            if attempt.code is code and attempt.line in (_ANYWHERE, line):
                return attempt.permission
    return ""


def _handlers(
    note: Callable[[str, FrameType, int], None],
) -> tuple[dict[str, _Handler], Callable[[bool, bool], None]]:
    """Map events to what they say. No sandbox of this version has a network, so that each use of one is refused.

    The second result is told what else the program may do.
    """
    forks = programs = True

    def may(fork: bool, start: bool) -> None:
        nonlocal forks, programs
        forks, programs = fork, start

    def look_up(args: tuple[Any, ...], frame: FrameType) -> None:
        note(_net(args[0], args[1] if len(args) > 1 else None), frame, frame.f_lineno)

    def address(args: tuple[Any, ...], frame: FrameType) -> None:
        if type(args[1]) is tuple:  # that of a local socket is a path
            note(_net(args[1][0], args[1][1]), frame, frame.f_lineno)

    def program(name: object, frame: FrameType, line: int) -> None:
        path = _text(name)
        if not programs or not forks or not _present(path):
            note(f"run({os.path.basename(path)})", frame, line)

    def fork(_: tuple[Any, ...], frame: FrameType) -> None:
        if not forks:
            note("run(python)", frame, frame.f_lineno)

    def replace(args: tuple[Any, ...], frame: FrameType) -> None:
        program(args[0], frame, frame.f_lineno)

    def popen(args: tuple[Any, ...], frame: FrameType) -> None:
        # The event comes from a line of the subprocess module before the one that fails.
        program(args[0], frame, _ANYWHERE)

    def shell(_: tuple[Any, ...], frame: FrameType) -> None:
        program("/bin/sh", frame, frame.f_lineno)

    handlers: dict[str, _Handler] = {
        "socket.getaddrinfo": look_up, "socket.gethostbyname": look_up,
        "socket.connect": address, "socket.bind": address, "socket.sendto": address, "socket.sendmsg": address,
        "os.fork": fork, "os.forkpty": fork, "os.system": shell,
        "os.exec": replace, "os.posix_spawn": replace, "subprocess.Popen": popen,
    }  # fmt: skip
    return handlers, may


def _net(host: object, port: object) -> str:
    name = _text(host)
    if ":" in name:
        name = f"[{name}]"
    number = port if type(port) is int else _text(port) if port is not None else 0
    return f"net({name}:{number})" if number else f"net({name})"


def _text(value: object) -> str:
    """Read what C code took as text. An object of a class of the program's own is not asked."""
    if type(value) is str:
        return value
    if type(value) is bytes:
        return value.decode()
    raise TypeError


def _present(program: str) -> bool:
    if "/" in program:
        return os.access(program, os.X_OK)
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in os.get_exec_path())
