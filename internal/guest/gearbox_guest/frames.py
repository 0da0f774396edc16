"""Which frames of a traceback the program's author wrote, and how the others are shown: as one short line.

A reader mends what stands in the program. Twenty frames of a library cost a model many tokens and tell it only where
they were entered, which the frame before them says, and where they ended, which the short line says.
"""

from __future__ import annotations

import functools
import inspect
import sys
import traceback as shared_traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

from . import own
from .own import path, traceback

__builtins__ = own.BUILTINS  # type: ignore[assignment]

FILENAME = "<cell>"
MAX_FRAMES = 20

_MAX_LINKED = 1000
_GUEST = path.join(path.dirname(path.abspath(__file__)), "")


def is_guest(filename: str) -> bool:
    """Tell whether code is the guest's own."""
    return filename.startswith(_GUEST)


def is_own(filename: str, workspace: str) -> bool:
    """Tell whether the program's author wrote the code: the cell, what exec was given, and files of the workspace."""
    if filename in (FILENAME, "<string>"):
        return True
    if not filename.startswith(("/", "<")):
        return True  # a file that the program compiled by its relative name; libraries are found by absolute ones
    return workspace != "" and filename.startswith(path.join(workspace, ""))


def shorten(report: traceback.TracebackException, workspace: str) -> None:
    """Make a report, and every one that it contains, show the frames of libraries in short."""
    waiting: list[traceback.TracebackException | None] = [report]
    for _ in range(_MAX_LINKED):
        if not waiting:
            return
        current = waiting.pop()
        if current is None:
            continue
        current.stack = _Stack(current.stack, workspace)
        waiting += (current.__cause__, current.__context__)
        waiting += getattr(current, "exceptions", None) or ()


def entries(stack: traceback.StackSummary, workspace: str) -> list[str]:
    """Format the author's frames as the interpreter does, and leave out the middle of what would fill pages."""
    written = [frame for frame in stack if is_own(frame.filename, workspace)]
    if len(written) == len(stack):
        return stack.format()  # of a report that was made short, which may have been formatted already
    return _bounded(traceback.StackSummary.from_list(written).format())


def hide_guest() -> None:
    """Let the tools that list the stack begin at the program, as they would in a script.

    They still take each frame from the interpreter; whoever walks the frames by hand sees the guest below.
    """
    extract_stack, outer_frames = shared_traceback.extract_stack, inspect.getouterframes

    @functools.wraps(extract_stack)
    def extract(f: FrameType | None = None, limit: int | None = None) -> traceback.StackSummary:
        stack = extract_stack(f or sys._getframe(1), limit)
        del stack[: len(stack) - _above_guest([frame.filename for frame in reversed(stack)])]
        return stack

    @functools.wraps(outer_frames)
    def outer(frame: Any, context: int = 1) -> list[inspect.FrameInfo]:
        stack = outer_frames(frame, context)
        return stack[: _above_guest([info.filename for info in stack])]

    shared_traceback.extract_stack, inspect.getouterframes = extract, outer


def _above_guest(filenames: list[str]) -> int:
    """Count the frames that the guest called, given all from the innermost."""
    return next((n for n, name in enumerate(filenames) if is_guest(name)), len(filenames))


class _Stack(traceback.StackSummary):
    """Frames that are formatted for the author of the program."""

    def __init__(self, frames: traceback.StackSummary, workspace: str) -> None:
        super().__init__(frames)
        self._workspace = workspace
        self._entries: list[str] | None = None

    def format(self, **_: Any) -> list[str]:
        """Format the frames, once; what CPython passes about colours is of no use in an answer."""
        if self._entries is None:
            self._entries = _bounded([e for own, run in self._runs() for e in _run_entries(own, run)])
        return self._entries

    def _runs(self) -> Iterator[tuple[bool, list[traceback.FrameSummary]]]:
        run: list[traceback.FrameSummary] = []
        was_own = False
        for frame in self:
            if is_guest(frame.filename):
                continue
            own = is_own(frame.filename, self._workspace)
            if run and own != was_own:
                yield was_own, run
                run = []
            was_own = own
            run.append(frame)
        if run:
            yield was_own, run


def _run_entries(own: bool, run: list[traceback.FrameSummary]) -> list[str]:
    if own:
        return traceback.StackSummary.from_list(run).format()
    last = run[-1]
    place = f"{_library_name(last.filename)}, line {last.lineno}, in {last.name}"
    if len(run) == 1:
        return [f"  … 1 library frame: {place} …\n"]
    return [f"  … {len(run)} library frames, the last: {place} …\n"]


def _library_name(filename: str) -> str:
    """Name a library's file as one imports it, without the folders of the installation."""
    if filename.startswith("<frozen "):
        return filename[len("<frozen ") : -1]
    homes = [p for p in sys.path if type(p) is str and len(p) > 1 and filename.startswith(path.join(p, ""))]
    if homes:
        return path.relpath(filename, max(homes, key=len))
    return path.basename(filename)


def _bounded(formatted: list[str]) -> list[str]:
    if len(formatted) <= MAX_FRAMES:
        return formatted
    half = MAX_FRAMES // 2
    left_out = f"  [{len(formatted) - 2 * half} frames left out]\n"
    return [*formatted[:half], left_out, *formatted[-half:]]
