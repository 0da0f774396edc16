"""Constants that expressions fold to, and the operations on them.

Folding runs nothing of the program: only the operations written out here, on
values no longer than :data:`MAX_TEXT`.
"""

from __future__ import annotations

import ast
import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_TEXT = 4_096


@dataclass(frozen=True, slots=True)
class Const:
    """A value that an expression may have. A text that is not ``whole`` is only its beginning."""

    value: str | bytes | int
    whole: bool = True


UNKNOWN = Const("", False)


def applied(function: Callable[[Any], Any], const: Const) -> Const:
    """The function's value for a whole constant; unknown when it raises or grows."""
    if not const.whole:
        return UNKNOWN
    try:
        value = function(const.value)
    except Exception:  # noqa: BLE001 - whatever the text was wrong for
        return UNKNOWN
    good = isinstance(value, int) or (isinstance(value, (str, bytes)) and len(value) <= MAX_TEXT)
    return Const(value) if good else UNKNOWN


def as_text(const: Const) -> Const:
    if isinstance(const.value, bytes):
        return UNKNOWN
    return Const(str(const.value), const.whole)


def add(left: Const, right: Const) -> Const:
    if not left.whole:
        return left
    if isinstance(left.value, str) and isinstance(right.value, str):
        return bounded(left.value + right.value, right.whole)
    if not right.whole:
        return Const(left.value, False) if isinstance(left.value, str) else UNKNOWN
    if isinstance(left.value, bytes) and isinstance(right.value, bytes):
        return Const((left.value + right.value)[:MAX_TEXT])
    return UNKNOWN


def bounded(text: str, whole: bool) -> Const:
    return Const(text[:MAX_TEXT], whole and len(text) <= MAX_TEXT)


def repeat(left: Const, right: Const) -> Const:
    text, count = (left.value, right.value) if isinstance(left.value, str) else (right.value, left.value)
    if not (left.whole and right.whole and isinstance(text, str) and isinstance(count, int)):
        return UNKNOWN
    return Const(text * count) if 0 <= count * len(text) <= MAX_TEXT else UNKNOWN


def slash(left: Const, right: Const) -> Const:
    """Join two parts of a path; an absolute second part starts over."""
    if not (isinstance(left.value, str) and isinstance(right.value, str)) or not left.whole:
        return UNKNOWN
    if right.value.startswith("/") or left.value in ("", "."):
        return right
    return add(Const(left.value.rstrip("/") + "/"), right)


def until(const: Const, mark: str) -> Const:
    """The part of a template before its first field."""
    if not isinstance(const.value, str):
        return UNKNOWN
    head, found, _ = const.value.partition(mark)
    return Const(head, const.whole and not found)


def percent(left: Const, right: Const) -> Const:
    return until(left, "%")


OPERATIONS: dict[type[ast.operator], Callable[[Const, Const], Const]] = {
    ast.Add: add,
    ast.Mult: repeat,
    ast.Div: slash,
    ast.Mod: percent,
}

METHODS: dict[str, Callable[..., Any]] = {
    "casefold": lambda text: text.casefold(),
    "capitalize": lambda text: text.capitalize(),
    "decode": lambda data, coding="utf-8": data.decode() if coding in ("ascii", "utf8", "utf-8") else None,
    "encode": lambda text, coding="utf-8": text.encode() if coding in ("ascii", "utf8", "utf-8") else None,
    "lower": lambda text: text.lower(),
    "lstrip": lambda text, *what: text.lstrip(*what),
    "removeprefix": lambda text, prefix: text.removeprefix(prefix),
    "removesuffix": lambda text, suffix: text.removesuffix(suffix),
    "replace": lambda text, old, new: text.replace(old, new) if len(new) < 64 else None,
    "rstrip": lambda text, *what: text.rstrip(*what),
    "strip": lambda text, *what: text.strip(*what),
    "swapcase": lambda text: text.swapcase(),
    "title": lambda text: text.title(),
    "upper": lambda text: text.upper(),
}
"""Methods that are folded. Other codings than UTF-8 are not: they would import a codec."""

DECODERS: dict[str, Callable[[Any], Any]] = {
    "base64.b64decode": base64.b64decode,
    "binascii.unhexlify": binascii.unhexlify,
    "builtins.bytes.fromhex": bytes.fromhex,
    "builtins.chr": chr,
}
