"""Calls of the tools of other servers: what a program does with the package tools.

A function of a server counts where it is called and where it is passed on, as to gather or map; looking at its name or
its help calls nothing. The targets are names as Python has them, module.function; the host knows the tools behind them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .analyser_names import Resolver
from .analyser_report import Report
from .analyser_scope import Scope

PACKAGE = "tools"

_OWN = frozenset(
    """
    aio Blob ResourceLink call describe parallel search ToolError ToolNotFound InvalidArguments ToolTimeout
    ServerUnavailable PolicyDenied ApprovalDenied CallLimitExceeded
    """.split()
)
"""What the package has of its own; every other name in it is a server."""

_BY_NAME = frozenset({"tools.call", "tools.aio.call"})
"""Functions that are given a server and the raw name of a tool."""

_LOOKERS = frozenset(
    {
        "builtins.help",
        "builtins.print",
        "builtins.repr",
        "builtins.callable",
        "builtins.type",
        "inspect.signature",
        "inspect.getdoc",
        "pydoc.render_doc",
    }
)
"""Functions that call nothing of what they are given."""


def is_package(module: str) -> bool:
    """Whether a module is the package or in it: it comes with every program, so that importing it needs nothing."""
    return module == PACKAGE or module.startswith(PACKAGE + ".")


def only_looks(names: Iterable[str]) -> bool:
    """Whether a call under these names leaves its arguments uncalled."""
    return any(name in _LOOKERS for name in names)


def explains(resolver: Resolver, node: ast.Call, scope: Scope, names: tuple[str, ...]) -> bool:
    """Whether a call asks for help on the package or something in it, and on nothing else."""
    if names != ("builtins.help",) or len(node.args) != 1:
        return False
    asked = resolver.names(node.args[0], scope)
    return bool(asked) and all(is_package(name) for name in asked)


def reference(report: Report, name: str, node: ast.AST) -> None:
    """Report a dotted name that is a function of a server."""
    if not name.startswith(PACKAGE + "."):
        return
    parts = name.split(".")
    server, path = parts[1], parts[2:]
    if path[:1] == ["aio"]:
        path = path[1:]
    if server not in _OWN and len(path) == 1 and path[0].isidentifier() and not path[0].startswith("__"):
        report.add("tool", f"{server}.{path[0]}", name, node)


def call_by_name(
    report: Report, resolver: Resolver, node: ast.Call, scope: Scope, names: tuple[str, ...]
) -> None:
    """Report what tools.call is given, where both names are constants."""
    for name in names:
        if name not in _BY_NAME:
            continue
        given: dict[str, ast.expr] = dict(zip(("server", "tool"), node.args))
        given.update({k.arg: k.value for k in node.keywords if k.arg in ("server", "tool")})
        if len(given) == 2:
            for server in resolver.texts(given["server"], scope):
                for tool in resolver.texts(given["tool"], scope):
                    if server and tool:
                        report.add("tool", f"{server}.{tool}", name, node)
