"""The modules of an operator's environment that a fork server imports ahead, so that children find them imported.

They are the operator's code and trusted as that: they run before anything is sealed, with all that the fork server may
do. They come after everything of the guest is loaded, and what would do harm in children is refused or told.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator

from gearbox_guest import kernel, seal

# The end of an error says what is wrong, and some libraries put a page of advice before it.
_REASON = 1500
# How long a thread that was joined, or a process that is about to end, may take to be gone, in seconds.
_LINGER = 1.0
# States of a process that runs no more.
_ENDED = ("Z", "X")
# More than any file of /proc that is read here has.
_TEXT = 1 << 16
# The part of the memory limit that stays with a child.
_CHILDS_PART = 8
# What modules find empty and may write to while they are imported.
_SCRATCH = ("/tmp", seal.WORKSPACE)
_SCRATCH_OPTIONS = "size=64m,nr_inodes=4096,mode=0755"
# Descriptors are looked for up to here.
_DESCRIPTORS = 256


class PreloadError(Exception):
    """A module cannot be preloaded. The text names it and says why."""


def load(modules: list[str], site_path: list[str], level: str) -> None:
    """Import modules, which are looked for in site_path after the standard library. sys.path stays as it was.

    A module that cannot be imported raises PreloadError, and so does one that leaves a thread or a process: a fork
    copies only the thread that forks, with every lock that another one holds, and a process would go on unsealed beside
    all programs.
    """
    if not modules:
        return
    if level == seal.NO_USERNS:
        kernel.adopt_orphans()  # elsewhere process 1 does: also what detached itself is a child then
    before = list(sys.path)
    sys.path += [p for p in site_path if p not in before]
    try:
        with _undisturbed(), _scratch(level):
            for name in modules:
                _load(name, level)
    except PreloadError:
        _end_children(level)
        raise
    finally:
        sys.path[:] = before


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Put signals and timers back as they were: the fork server waits for its children by them, and so do programs."""
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        yield
    finally:
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextlib.contextmanager
def _scratch(level: str) -> Iterator[None]:
    """Some modules insist on a directory for a cache. They have one for that long, where a mount can give it."""
    places = _SCRATCH if level != seal.NO_USERNS else ()
    for place in places:
        kernel.mount("scratch", place, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, _SCRATCH_OPTIONS)
    try:
        yield
    finally:
        for place in places:
            kernel.unmount(place)


@contextlib.contextmanager
def limited(memory: int) -> Iterator[None]:
    """Bound the address space as that of children will be, with some room left for them. Without memory do nothing.

    What is mapped here is mapped in each child. An allocator that finds no limit reserves a gigabyte ahead, which would
    leave nothing to a child that has half of that.
    """
    was = resource.getrlimit(resource.RLIMIT_AS)
    if memory:
        lower_soft = memory - memory // _CHILDS_PART
        resource.setrlimit(
            resource.RLIMIT_AS, (lower_soft if was[0] < 0 else min(was[0], lower_soft), was[1])
        )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, was)


def _load(name: str, level: str) -> None:
    open_before, children_before = _descriptors(), _children(level)
    try:
        importlib.import_module(name)
        # What it printed is nobody's output: children have a copy of what is not yet written.
        sys.stdout.flush()
    except BaseException as error:
        # A module may raise anything, SystemExit too.
        traceback.print_exc()
        raise PreloadError(f"{name}: {_reason(error)}") from error
    threads = _lasting(lambda: _other_tasks(level))
    if threads:
        raise PreloadError(
            f"{name}: its import leaves threads running ({', '.join(threads)}), and a process with threads cannot be forked safely"
        )
    processes = _lasting(lambda: _running(_children(level) - children_before, level))
    if processes:
        raise PreloadError(
            f"{name}: its import leaves processes running ({', '.join(processes)}), and nothing may go on beside the fork server"
        )
    for number in sorted(_descriptors() - open_before):
        sys.stderr.write(
            f"preload of {name}: it leaves descriptor {number} open, which children do not have\n"
        )
    sys.stderr.flush()


def _reason(error: BaseException) -> str:
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    if len(text) > _REASON:
        text = "… " + text[-_REASON:]
    if isinstance(error, MemoryError) or "Cannot allocate memory" in text or "failed to map segment" in text:
        text += " (the address space of modules counts for the memory limit of the gear; raise that)"
    return text


def _descriptors() -> set[int]:
    found = set()
    for number in range(_DESCRIPTORS):
        with contextlib.suppress(OSError):
            os.fstat(number)
            found.add(number)
    return found


def _lasting(look: Callable[[], list[str]]) -> list[str]:
    """Look until nothing is there any more, or it is not about to end."""
    give_up = time.monotonic() + _LINGER
    while (names := look()) and time.monotonic() < give_up:
        time.sleep(0.005)
    return names


@contextlib.contextmanager
def _own_directory(level: str) -> Iterator[tuple[int, int]]:
    """Open /proc, and this process in it."""
    # Where the fork server has no /proc of its own it holds the host's.
    proc = os.dup(seal.HOST_PROC) if level == seal.NO_PROC else os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    try:
        own = os.open("self", os.O_RDONLY | os.O_DIRECTORY, dir_fd=proc)
        try:
            yield proc, own
        finally:
            os.close(own)
    finally:
        os.close(proc)


def _other_tasks(level: str) -> list[str]:
    """Name the other threads of this process, with those of libraries that Python knows nothing of."""
    with _own_directory(level) as (proc, own):
        others = set(_listed("task", own)) - {os.readlink("self", dir_fd=proc)}
        return sorted(filter(None, (_read(f"task/{task}/comm", own) for task in others)))


def _children(level: str) -> set[str]:
    """List the children of this process by their numbers in the /proc that it looks at."""
    with _own_directory(level) as (_, own):
        return {pid for task in _listed("task", own) for pid in _read(f"task/{task}/children", own).split()}


def _running(pids: set[str], level: str) -> list[str]:
    """Name those that have not ended. A child that nobody has waited for does nothing any more."""
    with _own_directory(level) as (proc, _):
        texts = [_read(f"{pid}/stat", proc) for pid in pids]
    found = []
    for text in filter(None, texts):
        name, _, rest = text.partition("(")[2].rpartition(")")
        if rest.split()[0] not in _ENDED:
            found.append(name)
    return sorted(found)


def _end_children(level: str) -> None:
    """End what would outlive this process. Where that is process 1, the kernel does."""
    while level == seal.NO_USERNS and (left := _children(level)):
        for pid in map(int, left):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _listed(path: str, directory: int) -> list[str]:
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
    try:
        return os.listdir(opened)
    finally:
        os.close(opened)


def _read(path: str, directory: int) -> str:
    """Read a short file of /proc. It is empty of a thread or process that has ended meanwhile."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        file = os.open(path, os.O_RDONLY, dir_fd=directory)
        try:
            return os.read(file, _TEXT).decode(errors="replace").strip()
        finally:
            os.close(file)
    return ""
