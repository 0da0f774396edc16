"""Says what a program would do, before any of it runs.

The entry is :func:`analyse`. It parses the source as text, never as bytes (a
coding cookie would import a codec from sys.path), opens no file, imports
nothing and runs nothing of the program. It is an aid for whoever decides, not a
wall: one line of ``eval`` defeats it, and then it says ``unsafe(eval)``.

Equal sources give equal facts under one interpreter, whatever else is loaded:
an approved program is recognised by the digest of its facts.
"""

from __future__ import annotations

import ast
import traceback
from typing import Any

from . import analyser_text
from .analyser_report import Report
from .analyser_rules import Rules
from .analyser_scope import TooMuch, Walker

VERSION = 2
"""Raised whenever equal sources may give other facts than before."""

FILENAME = "<cell>"
"""The name under which tracebacks show the program."""

MAX_SOURCE = 256_000
"""Longer programs, in characters, are parsed but not looked at."""

_UNREADABLE = "/dev/null/<cell>"
"""The name given to the parser. It tries to open the file for the text of an
error, and no file can lie below a device, so that it never finds one."""

_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_MAX_ERROR_LINE = 200


def analyse(source: str) -> tuple[ast.Module | None, dict[str, Any]]:
    """The tree of the program and its facts, or no tree and how parsing fails.

    Warnings of the parser go the ordinary way, for the caller to record.
    """
    report = Report(source)
    try:
        tree = _parse(source)
    except (SyntaxError, ValueError) as error:
        analyser_text.magics(source, report)
        return None, {"facts": report.facts(), "failure": failure(error)}
    except (RecursionError, MemoryError, OverflowError) as error:  # CPython cannot run it either
        report.unanalysable(type(error).__name__)
        return None, {"facts": report.facts(), "failure": failure(error)}
    _examine(source, tree, report)
    return tree, {"facts": report.facts()}


def _parse(source: str) -> ast.Module:
    tree = compile(source, _UNREADABLE, "exec", _FLAGS, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


def _examine(source: str, tree: ast.Module, report: Report) -> None:
    """Whatever goes wrong, the caller hears that the facts are incomplete."""
    try:
        if len(source) > MAX_SOURCE:
            raise TooMuch(f"over {MAX_SOURCE} characters")
        analyser_text.scan(source, report)
        walker = Walker()
        rules = Rules(report, walker)
        rules.apply(walker.walk(tree))
        rules.finish()
    except TooMuch as limit:
        report.unanalysable(str(limit))
    except Exception as error:  # noqa: BLE001 - a fault of the analyser must not become a hole in it
        report.unanalysable(type(error).__name__)


def failure(error: Exception) -> dict[str, Any]:
    """The error as the bridge carries it, in the words and layout of CPython."""
    report: dict[str, Any] = {"class": type(error).__name__, "message": str(error)}
    if isinstance(error, SyntaxError):
        report.update(message=error.msg or "", line=error.lineno or 0, column=max(error.offset or 0, 0))
        error.filename = FILENAME
        _shorten(error)
    report["text"] = "".join(traceback.format_exception_only(type(error), error))
    return report


def _shorten(error: SyntaxError) -> None:
    """Cut a very long line to the part around the fault."""
    if error.text is None or error.offset is None or len(error.text) <= _MAX_ERROR_LINE:
        return
    start = max(0, error.offset - _MAX_ERROR_LINE // 2)
    error.text = error.text[start : start + _MAX_ERROR_LINE]
    error.offset -= start
    error.end_offset = None
    error.end_lineno = None
