"""The report of an exception that a program did not catch, cut to what the program's author wrote."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from . import frames, own, values
from .own import traceback

__builtins__ = own.BUILTINS  # type: ignore[assignment]

FILENAME = frames.FILENAME

MAX_TEXT = 64 << 10
MAX_MESSAGE = 8 << 10
_MAX_LINKED = 1000


def cut(exc: BaseException) -> None:
    """Take the guest's frames off the exception and off every one that is chained to it or grouped in it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exc]
    while waiting and len(seen) < _MAX_LINKED:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = _own_part(current.__traceback__)
        waiting += (current.__cause__, current.__context__)
        waiting += _grouped(current)


def tell(exc: BaseException, workspace: str = "") -> tuple[dict[str, Any], str]:
    """Build the bridge's Exception head from an exception that was cut, and the report for stderr."""
    whole = _inspect(exc, workspace)
    text = _text(exc, whole)
    head: dict[str, Any] = {
        "class": values.short_name(type(exc)),
        "message": _shorten(_message(exc), MAX_MESSAGE),
        "text": _shorten(text, MAX_TEXT),
    }
    _add_place(head, exc, whole, workspace)
    if isinstance(exc, OSError) and type(exc.errno) is int and 0 < exc.errno < 1 << 16:
        head["errno"] = exc.errno
    return head, text


def text(exc: BaseException, workspace: str = "") -> str:
    """The report for stderr: as CPython prints it, with the frames of libraries in short."""
    return _text(exc, _inspect(exc, workspace))


def _inspect(exc: BaseException, workspace: str) -> traceback.TracebackException | None:
    """Take a report apart. Lines are looked up when they are printed: most files of libraries are never read.

    This and formatting run code of the program, and may meet the same limit again that raised the exception.
    """
    try:
        whole = traceback.TracebackException(
            type(exc), exc, exc.__traceback__, lookup_lines=False, compact=True
        )
        frames.shorten(whole, workspace)
    except BaseException:  # noqa: BLE001
        return None
    return whole


def _text(exc: BaseException, whole: traceback.TracebackException | None) -> str:
    try:
        if exc.__traceback__ is None and exc.__cause__ is None and exc.__context__ is None:
            # A SyntaxError of the program itself has no traceback to head it.
            return "".join(traceback.format_exception_only(type(exc), exc))
        if whole is not None:
            return "".join(whole.format())
    except BaseException:  # noqa: BLE001 - as above
        pass
    name, message = values.short_name(type(exc)), _message(exc)
    head = "Traceback (most recent call last):\n" if exc.__traceback__ else ""
    last = f"{name}: {message}\n" if message else f"{name}\n"
    return "".join((head, *(entry for entry, _ in _plain_entries(exc)), last))


def _plain_entries(exc: BaseException) -> list[tuple[str, int]]:
    """The cell's frames and their lines, when the program leaves nothing that could format them better."""
    found: list[tuple[str, int]] = []
    tb = exc.__traceback__
    while tb is not None and len(found) < frames.MAX_FRAMES:
        code = tb.tb_frame.f_code
        if code.co_filename == FILENAME:
            entry = f'  File "{FILENAME}", line {tb.tb_lineno}, in {code.co_name}\n'
            found.append((entry, tb.tb_lineno))
        tb = tb.tb_next
    return found


def _message(exc: BaseException) -> str:
    try:
        if isinstance(exc, SyntaxError):
            return str.__str__(str(exc.msg))
        return str.__str__(str(exc))
    except BaseException:  # noqa: BLE001 - the program's __str__ may raise anything
        return "<exception str() failed>"


def _own_part(tb: TracebackType | None) -> TracebackType | None:
    """Drop the frames that lie before the program's first one: the guest's, and those of an event loop it started."""
    if tb is None or not frames.is_guest(tb.tb_frame.f_code.co_filename):
        return tb
    current: TracebackType | None = tb
    while current is not None:
        if current.tb_frame.f_code.co_filename == FILENAME:
            return current
        current = current.tb_next
    while tb is not None and frames.is_guest(tb.tb_frame.f_code.co_filename):
        tb = tb.tb_next
    return tb


def _grouped(exc: BaseException) -> tuple[BaseException, ...]:
    members = getattr(exc, "exceptions", ())
    if not isinstance(members, tuple):
        return ()
    return tuple(m for m in members if isinstance(m, BaseException))


def _add_place(
    head: dict[str, Any], exc: BaseException, whole: traceback.TracebackException | None, workspace: str
) -> None:
    if isinstance(exc, SyntaxError) and exc.filename == FILENAME and exc.__traceback__ is None:
        _set_positive(head, "line", exc.lineno)
        _set_positive(head, "column", exc.offset)
        return
    head["traceback"], lines = _places(exc, whole, workspace)
    if lines:
        _set_positive(head, "line", lines[-1])


def _places(
    exc: BaseException, whole: traceback.TracebackException | None, workspace: str
) -> tuple[list[str], list[int | None]]:
    """The entries of the author's frames, and the lines of those of the cell."""
    if whole is not None:
        try:
            lines = [f.lineno for f in whole.stack if f.filename == FILENAME]
            return frames.entries(whole.stack, workspace), lines
        except BaseException:  # noqa: BLE001 - as above
            pass
    plain = _plain_entries(exc)
    return [entry for entry, _ in plain], [line for _, line in plain]


def _set_positive(head: dict[str, Any], key: str, number: int | None) -> None:
    if type(number) is int and number > 0:
        head[key] = number


def _shorten(whole: str, limit: int) -> str:
    """Keep the start and the end: the end of a report says what happened."""
    if len(whole) <= limit:
        return whole
    half = limit // 2
    return f"{whole[:half]}\n[{len(whole) - 2 * half} characters left out]\n{whole[-half:]}"
