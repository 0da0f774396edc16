"""Says what a program would do, before any of it runs.

The entry is :func:`analyse`. It parses the source as text, never as bytes (a
coding cookie would import a codec from sys.path), opens no file, imports
nothing and runs nothing of the program. It is an aid for whoever decides, not a
wall: one line of ``eval`` defeats it, and then it says ``unsafe(eval)``.
"""

from __future__ import annotations

import ast
import traceback
import warnings
from typing import Any

FILENAME = "<cell>"
"""The name under which tracebacks show the program."""

_UNREADABLE = "/dev/null/<cell>"
"""The name given to the parser. It tries to open the file for the text of an
error, and no file can lie below a device, so that it never finds one."""

_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def analyse(source: str) -> tuple[ast.Module | None, dict[str, Any]]:
    """Parse the source and report its facts, or how it fails to parse."""
    try:
        tree = _parse(source)
    except (SyntaxError, ValueError) as error:
        return None, {"facts": [], "failure": failure(error)}
    except Exception as error:  # RecursionError, MemoryError: CPython could not run it either
        return None, {"facts": [_unanalysable()], "failure": failure(error)}
    return tree, {"facts": _imports(tree)}


def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = compile(source, _UNREADABLE, "exec", _FLAGS, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


def _imports(tree: ast.Module) -> list[dict[str, Any]]:
    facts: list[dict[str, Any]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            facts += [_fact("import", a.name, "import", node) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            facts.append(_fact("import", node.module or ".", "from", node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("eval", "exec", "compile"):
                facts.append(_fact("unsafe", node.func.id, node.func.id, node))
    return facts


def _fact(kind: str, target: str, via: str, node: ast.expr | ast.stmt) -> dict[str, Any]:
    return {"kind": kind, "target": target, "via": via, "line": node.lineno, "column": node.col_offset + 1}


def _unanalysable() -> dict[str, Any]:
    return {"kind": "unsafe", "target": "unanalysable", "line": 1, "column": 1}


def failure(error: Exception) -> dict[str, Any]:
    """The error as the bridge carries it, in the words and layout of CPython."""
    report: dict[str, Any] = {"class": type(error).__name__, "message": str(error)}
    if isinstance(error, SyntaxError):
        error.filename = FILENAME
        report.update(message=error.msg or "", line=error.lineno or 0, column=max(error.offset or 0, 0))
    report["text"] = "".join(traceback.format_exception_only(type(error), error))
    return report
