"""Collects facts in the form that the bridge carries."""

from __future__ import annotations

import ast
from typing import Any

from .analyser_scope import TooMuch

MAX_FACTS = 2_000
MAX_TARGET = 512
"""Longer targets are cut; no rule names one."""


class Report:
    """The facts of one program: one for each kind and target, where it is first seen."""

    def __init__(self, source: str) -> None:
        self._facts: dict[tuple[str, str], dict[str, Any]] = {}
        self._lines = None if source.isascii() else source.split("\n")

    def add(self, kind: str, target: str, via: str, node: ast.AST) -> None:
        """Report a fact at the place of the node."""
        line = int(getattr(node, "lineno", 1))
        self.add_at(kind, target, via, line, self._column(line, int(getattr(node, "col_offset", 0))))

    def add_at(self, kind: str, target: str, via: str, line: int, column: int) -> None:
        """Report a fact at a line and column that count from 1, in characters."""
        target = target[:MAX_TARGET]
        via = via.removeprefix("builtins.")[:MAX_TARGET]
        known = self._facts.get((kind, target))
        if known is not None and (known["line"], known["column"]) <= (line, column):
            return
        if known is None and len(self._facts) >= MAX_FACTS:
            raise TooMuch(f"over {MAX_FACTS} facts")
        self._facts[kind, target] = {
            "kind": kind,
            "target": target,
            "via": via,
            "line": line,
            "column": column,
        }

    def unanalysable(self, why: str) -> None:
        """Say that the facts are not all that there is to know."""
        self._facts["unsafe", "unanalysable"] = {
            "kind": "unsafe",
            "target": "unanalysable",
            "via": why[:MAX_TARGET],
            "line": 1,
            "column": 1,
        }

    def facts(self) -> list[dict[str, Any]]:
        """The facts in the order of the source."""
        return sorted(self._facts.values(), key=lambda f: (f["line"], f["column"], f["kind"], f["target"]))

    def _column(self, line: int, offset: int) -> int:
        """The parser counts bytes of UTF-8; people and editors count characters."""
        if self._lines is None or not 0 < line <= len(self._lines):
            return offset + 1
        return len(self._lines[line - 1].encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")) + 1
