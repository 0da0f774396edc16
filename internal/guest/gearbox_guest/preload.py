"""The modules of an operator's environment that a fork server imports ahead, so that children find them imported.

They are the operator's code and trusted as that: they run before anything is sealed, with all that the fork server may
do. They come after everything of the guest is loaded, and what would do harm in children is refused or told.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
import traceback

from gearbox_guest import seal

# The end of an error says what is wrong, and some libraries put a page of advice before it.
_REASON = 1500
# How long a thread that was joined may take to be gone, in seconds.
_LINGER = 1.0
# Descriptors are looked for up to here.
_DESCRIPTORS = 256


class PreloadError(Exception):
    """A module cannot be preloaded. The text names it and says why."""


def load(modules: list[str], site_path: list[str], level: str) -> None:
    """Import modules, which are looked for in site_path after the standard library. sys.path stays as it was.

    A module that cannot be imported raises PreloadError, and so does one that leaves a thread: a fork copies only the
    thread that forks, with every lock that another one holds.
    """
    before = list(sys.path)
    sys.path += [p for p in site_path if p not in before]
    try:
        for name in modules:
            _load(name, level)
    finally:
        sys.path[:] = before


def _load(name: str, level: str) -> None:
    open_before = _descriptors()
    try:
        importlib.import_module(name)
        # What it printed is nobody's output: children have a copy of what is not yet written.
        sys.stdout.flush()
    except BaseException as error:
        # A module may raise anything, SystemExit too.
        traceback.print_exc()
        raise PreloadError(f"{name}: {_reason(error)}") from error
    threads = _threads(level) - 1
    if threads:
        raise PreloadError(
            f"{name}: its import leaves threads running ({threads}), and a process with threads cannot be forked safely"
        )
    for number in sorted(_descriptors() - open_before):
        sys.stderr.write(
            f"preload of {name}: it leaves descriptor {number} open, which children do not have\n"
        )
    sys.stderr.flush()


def _reason(error: BaseException) -> str:
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return text if len(text) <= _REASON else "… " + text[-_REASON:]


def _descriptors() -> set[int]:
    found = set()
    for number in range(_DESCRIPTORS):
        with contextlib.suppress(OSError):
            os.fstat(number)
            found.add(number)
    return found


def _threads(level: str) -> int:
    """Count the threads of this process, with those of libraries that Python knows nothing of."""
    give_up = time.monotonic() + _LINGER
    while (count := _tasks(level)) > 1 and time.monotonic() < give_up:
        time.sleep(0.005)
    return count


def _tasks(level: str) -> int:
    # Where the fork server has no /proc of its own it holds the host's.
    own = level != seal.NO_PROC
    directory = os.open(
        "/proc/self/task" if own else "self/task",
        os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC,
        dir_fd=None if own else seal.HOST_PROC,
    )
    try:
        return len(os.listdir(directory))
    finally:
        os.close(directory)
