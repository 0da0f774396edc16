"""Judges attributes that are chosen by a value: ``getattr(object, name)``.

Programs dispatch this way on their own objects, by a loop variable, a parameter
or a text with a plain beginning (``"visit_" + kind``): that is innocent. A name
that is put together from pieces is not, nor any choice among the attributes of a
module or a literal: this is how special names are hidden from the other rules.
"""

from __future__ import annotations

import ast

from . import analyser_tables as tables
from .analyser_names import Resolver
from .analyser_scope import Binding, Scope
from .analyser_spelling import plain_start

_MAX_DEPTH = 8
_KEEPING = frozenset(
    {"lower", "upper", "strip", "replace", "get", "title", "pop", "group", "removeprefix", "removesuffix"}
)
"""Methods whose text is as innocent as the text that they start from."""

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
    if isinstance(name, (ast.JoinedStr, ast.BinOp)):
        return _plain_end(resolver, name, scope)
    if isinstance(name, ast.Call):
        method = name.func
        keeps = isinstance(method, ast.Attribute) and method.attr in _KEEPING
        return (
            keeps and isinstance(method, ast.Attribute) and _looked_up(resolver, method.value, scope, depth)
        )
    return _looked_up(resolver, name, scope, depth)


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


def _plain_end(resolver: Resolver, node: ast.JoinedStr | ast.BinOp, scope: Scope) -> bool:
    """A text that ends in a plain word is no special name, whatever it begins with."""
    last = node.right if isinstance(node, ast.BinOp) else (node.values or [node])[-1]
    texts = resolver.texts(last, scope)
    return bool(texts) and all(_plain_word(text) for text in texts)


def _plain_word(text: str) -> bool:
    return bool(text) and not text.endswith("_") and not any(frame.endswith(text) for frame in tables.FRAMES)


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
