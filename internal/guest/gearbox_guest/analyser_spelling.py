"""Judges names by their spelling alone."""

from __future__ import annotations

import ast
import functools
import string
from collections.abc import Iterator

from . import analyser_tables as tables


def is_module(name: str) -> bool:
    """Whether the dotted name is a module of the standard library."""
    return name in tables.STDLIB or name in tables.MODULES


@functools.cache
def reached(name: str) -> tuple[tuple[str, str], ...]:
    """What is wrong with a reference to the dotted name: the words, each with the module that is reached that way, if any."""
    word = tables.UNSAFE.get(name)
    found = [] if word is None else [(word, "")]
    base, dot, attribute = name.rpartition(".")
    if dot and not name.endswith(")") and not name.startswith(("<", "builtins.")):
        found += _of_module(name, base, attribute) if is_module(base) else _of_other(base, attribute)
    return tuple(found)


def _of_module(name: str, base: str, attribute: str) -> list[tuple[str, str]]:
    real = tables.ALIASES.get(name, attribute if attribute in tables.STDLIB else attribute.lstrip("_"))
    if real in tables.STDLIB and base != attribute and name not in tables.NOT_REEXPORTS:
        return [("reexport", real)]
    if attribute.startswith("_") and not attribute.startswith("__") and name not in tables.UNSAFE:
        return [("private", "")]
    return [("namespace", "")] if attribute == "__dict__" else []


def _of_other(base: str, attribute: str) -> list[tuple[str, str]]:
    real = attribute.lstrip("_")
    if real not in tables.EVERYWHERE or ("()" in base and real in tables.OBJECT_ATTRIBUTES):
        return []
    return [("reexport", real)]


def special(attribute: str) -> str | None:
    """The word for an attribute whose very spelling leads out of an object."""
    if "_" not in attribute:
        return None
    if attribute in tables.FRAMES:
        return "frames"
    if attribute == "__code__":
        return "code_object"
    dunder = attribute.startswith("__") and attribute.endswith("__") and len(attribute) > 4
    return "dunder" if dunder and attribute not in tables.DUNDER_OK else None


def plain_start(value: object) -> bool:
    """Whether nothing that begins so is a special attribute."""
    if not isinstance(value, str) or value.startswith("__") or value in ("", "_"):
        return False
    return not any(frame.startswith(value) for frame in tables.FRAMES)


def plain_end(value: str) -> bool:
    """Whether nothing that ends so is a special attribute."""
    return (
        bool(value) and not value.endswith("_") and not any(frame.endswith(value) for frame in tables.FRAMES)
    )


def is_literal(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "Literal") or (
        isinstance(node, ast.Attribute) and node.attr == "Literal"
    )


def field_names(template: str) -> Iterator[str]:
    """The attributes and keys that the replacement fields of a template walk, two levels deep."""
    work = [(template, 0)]
    while work:
        text, depth = work.pop()
        try:
            parsed = [
                (field, spec) for _, field, spec, _ in string.Formatter().parse(text) if field is not None
            ]
        except ValueError:
            continue  # it will not format either
        for field, spec in parsed:
            yield from field.replace("[", ".").replace("]", "").split(".")[1:]
            if spec and depth < 2:
                work.append((spec, depth + 1))
