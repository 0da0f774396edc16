"""Remembers what names and expressions were resolved to.

Every expression is resolved once, so that the work grows with the program and
not with the ways through it. Programs lean on themselves (``node = node.next``):
an answer that was found while something that it leans on was still open may be
incomplete, and is forgotten once the outermost question is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from .analyser_fold import UNKNOWN, Const
from .analyser_scope import Meaning, TooMuch

MAX_NAMES = 256
"""An expression that may stand for more names than this is not an honest one."""
MAX_CHOICES = 24
"""So many different constants of one expression are followed; the others are unknown."""

Item = TypeVar("Item", str, Const)


class Memo(Generic[Item]):
    """The answers to one sort of question."""

    def __init__(self, bounded: Callable[[Iterable[Item]], tuple[Item, ...]]) -> None:
        self.bounded: Callable[[Iterable[Item]], tuple[Item, ...]] = bounded
        self.done: dict[object, tuple[Item, ...]] = {}
        self.loose: dict[object, tuple[tuple[Item, ...], int]] = {}
        """Answers that may be incomplete, each with the depth that it leans on."""
        self.open: dict[object, int] = {}
        """Questions that are being answered, each with its depth."""

    def keep(self, key: object, found: tuple[Item, ...], depth: int, low: int) -> None:
        """Keep the answer, for good unless it leans on one that is not known yet."""
        if low >= depth:
            self.done[key] = found
        else:
            self.loose[key] = found, low


def bounded_names(found: Iterable[str]) -> tuple[str, ...]:
    """The different names."""
    names = tuple(dict.fromkeys(found))
    if len(names) > MAX_NAMES:
        raise TooMuch(f"an expression with over {MAX_NAMES} meanings")
    return names


def bounded_consts(found: Iterable[Const]) -> tuple[Const, ...]:
    """The different constants, or the first of them and that there are others."""
    consts = tuple(dict.fromkeys(found))
    return consts if len(consts) <= MAX_CHOICES else (*consts[: MAX_CHOICES - 1], UNKNOWN)


def key_of(meaning: Meaning) -> object:
    """Every use of one variable is one question."""
    bindings, builtin = meaning
    return id(bindings[0]), len(bindings), builtin
