"""Judges attributes that are chosen by a value: ``getattr(object, name)``.

Programs dispatch this way on their own objects, by a loop variable, a parameter
or a text with a plain beginning (``"visit_" + kind``): that is innocent. A name
that is put together from pieces is not, nor any choice among the attributes of a
module or a literal: this is how special names are hidden from the other rules.
"""

from __future__ import annotations

import ast
import re

from . import analyser_tables as tables
from .analyser_names import Resolver
from .analyser_scope import Binding, Scope
from .analyser_spelling import plain_end, plain_start

_MAX_DEPTH = 8
_KEEPING = frozenset(
    {"lower", "upper", "strip", "replace", "get", "title", "pop", "group", "removeprefix", "removesuffix"}
)
"""Methods whose text is as innocent as the text that they start from."""

_LOOKUPS = frozenset({"getattr", "next", "str"})
"""Functions that give what they were given, or what they found."""

_PERCENT = re.compile(r"%[-#0-9.]*[a-zA-Z]|%\(\w*\)[a-z]")

_LITERALS = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Lambda, ast.JoinedStr)


def outside(resolver: Resolver, base: ast.expr, scope: Scope) -> bool:
    """Whether the object is a module, something of the standard library, or a literal."""
    if isinstance(base, _LITERALS):
        return True
    names = resolver.names(base, scope)
    if any(name in tables.DYNAMIC_OK for name in names):
        return False
    if any(name.partition(".")[0] in tables.STDLIB and "()" not in name for name in names):
        return True
    if not isinstance(base, ast.Name):
        return False
    bindings, _ = scope.lookup(base.id, base.lineno)
    return any(binding.how == "module" for binding in bindings)


def innocent(resolver: Resolver, name: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether the value is looked up rather than put together, or cannot be a special name."""
    consts = resolver.consts(name, scope)
    if all(const.whole or plain_start(const.value) for const in consts):
        return True
    ends = _endings(resolver, name, scope)
    if ends and all(plain_end(end) for end in ends):
        return True
    if not isinstance(name, ast.Call):
        return _looked_up(resolver, name, scope, depth)
    function = name.func
    if isinstance(function, ast.Attribute) and function.attr in _KEEPING:
        return _looked_up(resolver, function.value, scope, depth)
    return isinstance(function, ast.Name) and function.id in _LOOKUPS


def _endings(resolver: Resolver, name: ast.expr, scope: Scope) -> list[str]:
    """How a text that is put together ends, as far as it is written out."""
    if isinstance(name, ast.JoinedStr) and name.values:
        return resolver.texts(name.values[-1], scope)
    if isinstance(name, ast.BinOp) and isinstance(name.op, ast.Add):
        return resolver.texts(name.right, scope)
    if isinstance(name, ast.BinOp) and isinstance(name.op, ast.Mod):
        return [_PERCENT.split(text)[-1] for text in resolver.texts(name.left, scope)]
    if isinstance(name, ast.Call) and isinstance(name.func, ast.Attribute) and name.func.attr == "format":
        return [text.rpartition("}")[2] for text in resolver.texts(name.func.value, scope)]
    return []


def _looked_up(resolver: Resolver, node: ast.expr, scope: Scope, depth: int) -> bool:
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Constant)):
        return True
    if not isinstance(node, ast.Name) or depth > _MAX_DEPTH:
        return False
    bindings, _ = scope.lookup(node.id, node.lineno)
    return all(_innocent_binding(resolver, binding, depth + 1) for binding in bindings)


def _innocent_binding(resolver: Resolver, binding: Binding, depth: int) -> bool:
    if binding.how != "value" or binding.node is None:
        return True
    return innocent(resolver, binding.node, binding.scope, depth)


def own_class(resolver: Resolver, base: ast.expr, scope: Scope, directly: bool) -> bool:
    """Whether the walk starts at a class of the program's own, or at its instance.

    The bases of any class but a builtin one may be looked at; subclasses only of
    a class that the program itself wrote, since those of ``object`` are all there are.
    """
    if (
        isinstance(base, ast.Call)
        and isinstance(base.func, ast.Name)
        and base.func.id == "type"
        and base.args
    ):
        base = base.args[0]
    elif isinstance(base, ast.Attribute) and base.attr == "__class__":
        base = base.value
    names = resolver.names(base, scope)
    if names and set(names) <= {"<own>", "<own>()"}:
        return True
    if not isinstance(base, ast.Name):
        return False
    bindings, builtin = scope.lookup(base.id, base.lineno)
    if directly:
        method = scope.kind == "function" and scope.parent is not None and scope.parent.kind == "class"
        return method and base.id in ("cls", "self") and all(b.how == "unknown" for b in bindings)
    plain_builtin = any(name.startswith("builtins.") and "()" not in name for name in names)
    return bool(bindings) and not builtin and not plain_builtin
