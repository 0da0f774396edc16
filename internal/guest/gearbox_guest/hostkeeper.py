"""The keeper of one program on the host backend: the parent that outlives it and ends all that it started.

On Linux the keeper is a child subreaper (prctl(2)), so that every orphan of the program, also one that made its own
session, becomes the keeper's child and is found by walking /proc. Elsewhere only the program's process group is ended.
The program runs with the keeper's own rights and can kill it: this is order among honest programs, not a wall.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_ON_LINUX = sys.platform == "linux"


def become_subreaper() -> None:
    """Adopt orphans from now on."""
    if _ON_LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel end this process when the keeper is gone."""
    if _ON_LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def keep(program: int, control_fd: int, report_fd: int) -> NoReturn:
    """Wait until the program ends or the host closes control_fd, end what is left, and end in the program's own way.

    The memory that the largest process of the program had, in bytes, goes to report_fd.
    """
    woken_fd = _wake_on_child_end()
    status = _reap(program, None)
    while status is None:
        ready, _, _ = select.select([control_fd, woken_fd], [], [])
        if control_fd in ready:
            break
        os.read(woken_fd, 512)
        status = _reap(program, None)
    status = _end_tree(program, status)
    os.write(report_fd, b"%d\n" % _memory_peak())
    _end_as(status)


def _memory_peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def _wake_on_child_end() -> int:
    read_fd, write_fd = os.pipe()
    os.set_blocking(read_fd, False)
    os.set_blocking(write_fd, False)
    signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return read_fd


def _reap(program: int, status: int | None) -> int | None:
    """Reap all that has ended; return the program's status once it is known."""
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == program:
            status = ended


def _end_tree(program: int, status: int | None) -> int:
    """Kill until nothing is left: a process may fork between the look and the kill, and its child is seen next time."""
    if not _ON_LINUX:
        _kill(-program)
    while True:
        for pid in _descendants():
            _kill(pid)
        try:
            pid, ended = os.waitpid(-1, 0)
        except ChildProcessError:
            return signal.SIGKILL if status is None else status
        status = _reap(program, ended if pid == program else status)


def _descendants() -> set[int]:
    """List every process below this one, from /proc."""
    if not _ON_LINUX:
        return set()
    parents = {int(name): _parent(name) for name in os.listdir("/proc") if name.isdigit()}
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0  # it has ended meanwhile


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _end_as(status: int) -> NoReturn:
    """End as the program ended, so that the host's own wait sees it, without a second core dump."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _prctl(option: int, argument: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, argument, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
