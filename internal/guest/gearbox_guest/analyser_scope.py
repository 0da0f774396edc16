"""Walks a tree once and says what each name is bound to.

The walk keeps a stack of its own, so that the depth of the source cannot
exhaust the interpreter's. It follows Python's scopes: a parameter called
``compile`` is not the builtin, and a class body is not seen from its methods.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import analyser_tables as tables

MAX_NODES = 120_000
"""A bound on work and memory; honest programs of 400 lines stay below 10,000."""

_VISITED = frozenset(
    {
        ast.Import,
        ast.ImportFrom,
        ast.Call,
        ast.Attribute,
        ast.Name,
        ast.Subscript,
        ast.MatchClass,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.AnnAssign,
        ast.Compare,
        ast.Constant,
    }
)
_PLAIN = frozenset(
    {
        "arg",
        "attr",
        "conversion",
        "ctx",
        "id",
        "is_async",
        "kind",
        "level",
        "module",
        "simple",
        "str",
        "type_comment",
    }
)
"""Fields that hold no node that anybody looks at, in whatever they are fields of."""


_BUILTINS = frozenset(dir(builtins)) | {
    "__builtins__",
    "__loader__",
    "__spec__",
    "copyright",
    "credits",
    "license",
    "help",
}


class TooMuch(Exception):
    """The program is larger than the analyser is willing to look at."""


@dataclass(slots=True)
class Binding:
    """One thing that a name may stand for.

    ``how`` is ``module`` (``name`` is its dotted name), ``value`` (``node`` was
    assigned), ``each`` (an item of ``node``), ``own`` (a definition of the
    program), ``error`` (a caught exception) or ``unknown``.
    """

    how: str
    scope: Scope
    line: int
    name: str = ""
    node: ast.expr | None = None
    firm: bool = False
    """True when the statement runs for certain, once, at the top of its scope."""


@dataclass(slots=True)
class Scope:
    """A region in which names are bound: module, function, comprehension or class."""

    kind: str
    parent: Scope | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    """Names declared global or nonlocal, with the scope they belong to."""
    stars: list[str] = field(default_factory=list)
    """Modules of which everything was imported."""

    def lookup(self, name: str, line: int) -> Meaning:
        """What a name may stand for where it is used."""
        here: Scope | None = self
        found: list[Binding] = []
        first = True
        while here is not None:
            visible = first or here.kind != "class"
            bound = (
                here.elsewhere[name].bindings.get(name) if name in here.elsewhere else here.bindings.get(name)
            )
            if visible and bound:
                found += bound
                if here.kind in ("function", "comprehension") and name not in here.elsewhere:
                    return found, False
                if here.kind == "module":
                    return found, _maybe_builtin(name, bound, line)
            first = first and here.kind == "comprehension"
            here = here.parent
        return found, name in _BUILTINS

    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


Meaning = tuple[list[Binding], bool]
"""The bindings of a name, and whether it may also be the builtin of that name."""

Walked = tuple[ast.AST, Scope]
"""A node that rules look at, and the scope that its names belong to."""


class Walker:
    """Collects the nodes in the order of the source, and binds names on the way."""

    def __init__(self) -> None:
        self.module = Scope("module")
        self.nodes: list[Walked] = []
        self._count = 0
        self._firm: set[int] = set()

    def walk(self, tree: ast.AST, scope: Scope | None = None) -> list[Walked]:
        """Walk the tree and return what was found in it."""
        start = len(self.nodes)
        if isinstance(tree, ast.Module):
            self._firm = {id(statement) for statement in tree.body}
        stack: list[tuple[ast.AST, Scope]] = [(tree, scope or self.module)]
        while stack:
            walked = stack.pop()
            node, inside = walked
            kind = type(node)
            self._count += 1
            if self._count > MAX_NODES:
                raise TooMuch(f"over {MAX_NODES} nodes")
            if kind in _VISITED:
                self.nodes.append(walked)
            if kind in _LEAVES:
                continue
            opener = _OPENERS.get(kind)
            if opener is not None:
                stack += reversed(opener(self, node, inside))
                continue
            binder = _BINDERS.get(kind)
            if binder is not None:
                binder(self, node, inside)
            for name in _FIELDS.get(kind) or _fields(kind):
                value = getattr(node, name, None)
                if isinstance(value, list):
                    stack += [(item, inside) for item in reversed(value) if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST):
                    stack.append((value, inside))
        return self.nodes[start:]

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope
    ) -> list[tuple[ast.AST, Scope]]:
        inner = Scope("function", scope)
        arguments = node.args
        everyone = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        everyone += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
        for argument in everyone:
            self._bind(inner, argument.arg, Binding("unknown", inner, argument.lineno))
        outside: list[ast.AST] = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
        if isinstance(node, ast.Lambda):
            return [*((child, scope) for child in outside), (node.body, inner)]
        self._define(node, scope)
        outside += [*node.decorator_list, *(a.annotation for a in everyone if a.annotation is not None)]
        if node.returns is not None:
            outside.append(node.returns)
        outside += getattr(node, "type_params", [])
        return [*((child, scope) for child in outside), *((child, inner) for child in node.body)]

    def _class(self, node: ast.ClassDef, scope: Scope) -> list[tuple[ast.AST, Scope]]:
        self._define(node, scope)
        inner = Scope("class", scope)
        outside: list[ast.AST] = [*node.decorator_list, *node.bases, *node.keywords]
        outside += getattr(node, "type_params", [])
        return [*((child, scope) for child in outside), *((child, inner) for child in node.body)]

    def _comprehension(self, node: ast.AST, scope: Scope) -> list[tuple[ast.AST, Scope]]:
        """Only the first iterable is evaluated outside, as Python does it."""
        inner = Scope("comprehension", scope)
        found: list[tuple[ast.AST, Scope]] = []
        around = scope
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.comprehension):
                found.append((child, inner))
                continue
            self._target(child.target, child.iter, inner, "each", False)
            found.append((child.iter, around))
            found += [(condition, inner) for condition in child.ifs]
            around = inner
        return found

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: Scope) -> None:
        how = "own" if isinstance(node, ast.ClassDef) else "unknown"
        self._bind(scope, node.name, Binding(how, scope, node.lineno, node.name, firm=id(node) in self._firm))

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        home = scope.elsewhere.get(name, scope)
        home.bindings.setdefault(name, []).append(binding)

    def _target(self, target: ast.expr, value: ast.expr | None, scope: Scope, how: str, firm: bool) -> None:
        """Bind what an assignment names; only a few levels of unpacking are followed."""
        work: list[tuple[ast.expr, ast.expr | None, str]] = [(target, value, how)]
        while work:
            left, right, kind = work.pop()
            if isinstance(left, ast.Starred):
                work.append((left.value, None, "unknown"))
            elif isinstance(left, ast.Name):
                kind = kind if right is not None else "unknown"
                self._bind(scope, left.id, Binding(kind, scope, left.lineno, "", right, firm))
            elif isinstance(left, (ast.Tuple, ast.List)):
                work += _pairs(left.elts, right, kind)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        for target in node.targets:
            self._target(target, node.value, scope, "value", id(node) in self._firm)

    def _assign_one(self, node: ast.AnnAssign | ast.NamedExpr, scope: Scope) -> None:
        """An assignment inside a comprehension binds in the function around it."""
        home = scope
        while home.kind == "comprehension" and home.parent is not None:
            home = home.parent
        self._target(node.target, node.value, home, "value", id(node) in self._firm)

    def _augment(self, node: ast.AugAssign, scope: Scope) -> None:
        joined = ast.BinOp(node.target, node.op, node.value)
        if isinstance(node.target, ast.Name):
            self._target(node.target, ast.copy_location(joined, node), scope, "value", False)

    def _loop(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        self._target(node.target, node.iter, scope, "each", False)

    def _with(self, node: ast.withitem, scope: Scope) -> None:
        if node.optional_vars is not None:
            self._target(node.optional_vars, node.context_expr, scope, "value", False)

    def _except(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name is not None:
            self._bind(scope, node.name, Binding("error", scope, node.lineno))

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            meaning = alias.name if alias.asname else name
            self._bind(
                scope, name, Binding("module", scope, node.lineno, meaning, firm=id(node) in self._firm)
            )

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if alias.name == "*":
                scope.module().stars.append(node.module or "")
                continue
            meaning = f"{node.module or ''}.{alias.name}"
            name = alias.asname or alias.name
            self._bind(
                scope, name, Binding("module", scope, node.lineno, meaning, firm=id(node) in self._firm)
            )

    def _global(self, node: ast.Global, scope: Scope) -> None:
        for name in node.names:
            scope.elsewhere[name] = scope.module()

    def _nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        for name in node.names:
            home = scope.parent
            while home is not None and name not in home.bindings:
                home = home.parent
            scope.elsewhere[name] = home or scope

    def _capture(self, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name is not None:
            self._bind(scope, node.name, Binding("unknown", scope, node.lineno))

    def _rest(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest is not None:
            self._bind(scope, node.rest, Binding("unknown", scope, node.lineno))

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        """A deleted name may mean the builtin again, so that none of its bindings is firm."""
        for target in node.targets:
            for binding in scope.bindings.get(target.id, []) if isinstance(target, ast.Name) else []:
                binding.firm = False


_LEAVES = frozenset({ast.Name, ast.Constant})
_OPENERS: dict[type[ast.AST], Any] = {
    ast.FunctionDef: Walker._function,
    ast.AsyncFunctionDef: Walker._function,
    ast.Lambda: Walker._function,
    ast.ClassDef: Walker._class,
    ast.ListComp: Walker._comprehension,
    ast.SetComp: Walker._comprehension,
    ast.DictComp: Walker._comprehension,
    ast.GeneratorExp: Walker._comprehension,
}
"""Nodes that open a scope of their own."""

_BINDERS: dict[type[ast.AST], Any] = {
    ast.Assign: Walker._assign,
    ast.AnnAssign: Walker._assign_one,
    ast.NamedExpr: Walker._assign_one,
    ast.AugAssign: Walker._augment,
    ast.For: Walker._loop,
    ast.AsyncFor: Walker._loop,
    ast.withitem: Walker._with,
    ast.ExceptHandler: Walker._except,
    ast.Import: Walker._import,
    ast.ImportFrom: Walker._import_from,
    ast.Global: Walker._global,
    ast.Nonlocal: Walker._nonlocal,
    ast.Delete: Walker._delete,
    ast.MatchAs: Walker._capture,
    ast.MatchStar: Walker._capture,
    ast.MatchMapping: Walker._rest,
}


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}
"""The fields of each kind of node that may hold others, the last one first, once the kind was met."""


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    plain = _PLAIN | {"op"} if kind in (ast.BinOp, ast.AugAssign) else _PLAIN
    fields = _FIELDS[kind] = tuple(name for name in reversed(kind._fields) if name not in plain)
    return fields


def _pairs(
    targets: list[ast.expr], value: ast.expr | None, how: str
) -> Iterator[tuple[ast.expr, ast.expr | None, str]]:
    """Match the parts of an unpacking with the parts of what is unpacked."""
    if how == "value" and isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(targets):
        yield from ((target, item, how) for target, item in zip(targets, value.elts))
    elif how == "each" and (rows := _rows(value, len(targets))):
        for place, target in enumerate(targets):
            yield target, ast.List([row[place] for row in rows], ast.Load()), how
    else:
        yield from ((target, None, "unknown") for target in targets)


def _rows(value: ast.expr | None, width: int) -> list[list[ast.expr]]:
    """The rows of a table written out as a list of tuples, or nothing."""
    if not isinstance(value, (ast.Tuple, ast.List)):
        return []
    rows = [
        row.elts for row in value.elts if isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) == width
    ]
    return rows if len(rows) == len(value.elts) else []


def _maybe_builtin(name: str, bindings: list[Binding], line: int) -> bool:
    """A sensitive builtin counts as hidden only where it is hidden for certain."""
    if name not in tables.SENSITIVE:
        return False
    return not any(binding.firm and binding.line < line for binding in bindings)
