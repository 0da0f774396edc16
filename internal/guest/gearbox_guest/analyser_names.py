"""Resolves expressions: to dotted names, and to constants.

Resolving calls itself, but never deeper than :data:`MAX_DEPTH` and never more
often than :data:`MAX_STEPS`, so that neither a deep nor a wide program can hold
it up. What it cannot tell it calls unknown; it never guesses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from . import analyser_effects as effects
from . import analyser_tables as tables
from .analyser_fold import (
    DECODERS,
    MAX_TEXT,
    METHODS,
    OPERATIONS,
    UNKNOWN,
    Const,
    add,
    applied,
    as_text,
    slash,
    until,
)
from .analyser_memo import MAX_CHOICES, Item, Memo, bounded_consts, bounded_names, key_of
from .analyser_scope import Binding, Meaning, Scope, TooMuch

MAX_DEPTH = 100
MAX_STEPS = 400_000
GIVE_NAMES = tables.ATTRIBUTE_READERS | tables.IMPORTERS | {"sys.modules.get", "builtins.vars"}
"""Functions whose result has a dotted name of its own, instead of the function's."""

MAX_ITEMS = 1_000
"""So many items of a literal are looked at."""


class Resolver:
    """Answers what expressions mean. One resolver serves one program."""

    def __init__(self) -> None:
        self._names = Memo(bounded_names)
        self._consts = Memo(bounded_consts)
        self._steps = 0
        self._depth = 0
        self._low = 0
        """The shallowest expression still being resolved that the current one leans on."""

    # --- Names -----------------------------------------------------------------------------------

    def names(self, node: ast.AST, scope: Scope) -> tuple[str, ...]:
        """The dotted names that the expression may stand for, resolved through bindings."""
        if isinstance(node, ast.Name):
            meaning = scope.lookup(node.id, node.lineno)
            if not meaning[0]:
                return self._unbound(node.id, meaning[1], scope)
            return self._resolve(self._names, key_of(meaning), Resolver._name, node, meaning, ())
        how = _NAMES.get(type(node))
        return () if how is None else self._resolve(self._names, id(node), how, node, scope, ())

    def _resolve(
        self, memo: Memo[Item], key: object, how: Any, node: ast.AST, where: Any, nothing: tuple[Item, ...]
    ) -> tuple[Item, ...]:
        """Resolve once. What refers to itself adds nothing to itself; what was resolved
        while something that it leans on was not is kept only until the outermost question
        is answered, since it may be incomplete."""
        known = memo.done.get(key)
        if known is not None:
            return known
        if key in memo.open:
            self._low = min(self._low, memo.open[key])
            return nothing
        if key in memo.loose:
            known, low = memo.loose[key]
            self._low = min(self._low, low)
            return known
        self._steps += 1
        if self._steps > MAX_STEPS or self._depth >= MAX_DEPTH:
            raise TooMuch("names are resolved over too many steps")
        self._depth = depth = self._depth + 1
        outer, self._low = self._low, depth
        memo.open[key] = depth
        try:
            found = memo.bounded(how(self, node, where)) or nothing
        finally:
            self._depth -= 1
            del memo.open[key]
        memo.keep(key, found, depth, self._low)
        self._low = min(outer, self._low) if self._low < depth else outer
        if self._depth == 0 and (self._names.loose or self._consts.loose):
            self._names.loose.clear()
            self._consts.loose.clear()
        return found

    def _unbound(self, name: str, builtin: bool, scope: Scope) -> tuple[str, ...]:
        if builtin:
            return (f"builtins.{name}",)
        return bounded_names(f"{module}.{name}" for module in scope.module().stars)

    def _name(self, node: ast.Name, meaning: Meaning) -> Iterable[str]:
        bindings, builtin = meaning
        for binding in bindings:
            yield from self._bound(binding)
        if builtin:
            yield f"builtins.{node.id}"

    def _bound(self, binding: Binding) -> Iterable[str]:
        if binding.how == "module":
            yield binding.name
        elif binding.how in ("own", "error"):
            yield f"<{binding.how}>"
        elif binding.how == "value" and binding.node is not None:
            yield from self.names(binding.node, binding.scope)
        elif binding.how == "each" and binding.node is not None:
            for item, scope in self.items(binding.node, binding.scope):
                yield from self.names(item, scope)

    def items(self, node: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]]:
        """What a literal list, tuple, set or dict holds, also through a name for it."""
        for _ in range(MAX_DEPTH):
            if not isinstance(node, ast.Name):
                break
            bindings, _builtin = scope.lookup(node.id, node.lineno)
            if len(bindings) != 1 or bindings[0].how != "value" or bindings[0].node is None:
                return []
            node, scope = bindings[0].node, bindings[0].scope
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [(item, scope) for item in node.elts[:MAX_ITEMS]]
        if isinstance(node, ast.Dict):
            return [(item, scope) for item in node.values[:MAX_ITEMS]]
        return []

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Iterable[str]:
        for base in self.names(node.value, scope):
            yield _join(base, node.attr)

    def _call_name(self, node: ast.Call, scope: Scope) -> Iterable[str]:
        for function in self.names(node.func, scope):
            if function in tables.ATTRIBUTE_READERS and len(node.args) > 1:
                yield from self._joined(node.args[0], node.args[1], scope)
            elif function in tables.IMPORTERS and node.args:
                top = function == "builtins.__import__"
                for text in self.texts(node.args[0], scope):
                    yield text.partition(".")[0] if top else text
            elif function == "sys.modules.get" and node.args:
                yield from self.texts(node.args[0], scope)
            elif function == "builtins.vars" and node.args:
                yield from (f"{base}.__dict__" for base in self.names(node.args[0], scope))
            else:
                yield f"{function}()"

    def _joined(self, base: ast.expr, attribute: ast.expr, scope: Scope) -> Iterable[str]:
        for name in self.names(base, scope):
            for text in self.texts(attribute, scope):
                yield _join(name, text)

    def _subscript_name(self, node: ast.Subscript, scope: Scope) -> Iterable[str]:
        for item, inside in self.items(node.value, scope):
            yield from self.names(item, inside)
        for base in self.names(node.value, scope):
            texts = self.texts(node.slice, scope)
            if base == "sys.modules":
                yield from texts
            elif base == "builtins.__builtins__":
                yield from (f"builtins.{text}" for text in texts)
            elif base.endswith(".__dict__") and texts:
                yield from (_join(base[: -len(".__dict__")], text) for text in texts)
            else:
                yield f"{base}[]"

    def _choice(self, node: ast.IfExp, scope: Scope) -> Iterable[str]:
        yield from self.names(node.body, scope)
        yield from self.names(node.orelse, scope)

    def _either(self, node: ast.BoolOp, scope: Scope) -> Iterable[str]:
        for value in node.values:
            yield from self.names(value, scope)

    def _inner(self, node: ast.NamedExpr | ast.Await | ast.Starred, scope: Scope) -> Iterable[str]:
        yield from self.names(node.value, scope)

    def _divided(self, node: ast.BinOp, scope: Scope) -> Iterable[str]:
        """``Path(…) / name`` is a path; nothing else of arithmetic has a name."""
        if isinstance(node.op, ast.Div):
            yield from (name for name in self.names(node.left, scope) if name.startswith("pathlib."))

    # --- Constants -------------------------------------------------------------------------------

    def consts(self, node: ast.AST, scope: Scope) -> tuple[Const, ...]:
        """The values that the expression may have; :data:`UNKNOWN` is among them if there are others."""
        if isinstance(node, ast.Constant):
            good = isinstance(node.value, (str, bytes, int)) and not isinstance(node.value, bool)
            return (Const(node.value),) if good else (UNKNOWN,)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            meaning = scope.lookup(node.id, node.lineno)
            if not meaning[0]:
                return (UNKNOWN,)
            return self._resolve(
                self._consts, key_of(meaning), Resolver._name_consts, node, meaning, (UNKNOWN,)
            )
        how = _CONSTS.get(type(node))
        return (
            (UNKNOWN,) if how is None else self._resolve(self._consts, id(node), how, node, scope, (UNKNOWN,))
        )

    def texts(self, node: ast.AST, scope: Scope) -> list[str]:
        """The whole texts among the values of the expression."""
        return [c.value for c in self.consts(node, scope) if c.whole and isinstance(c.value, str)]

    def _name_consts(self, node: ast.Name, meaning: Meaning) -> Iterable[Const]:
        bindings, builtin = meaning
        if builtin:
            yield UNKNOWN
        for binding in bindings:
            if binding.how == "value" and binding.node is not None:
                yield from self.consts(binding.node, binding.scope)
            elif binding.how == "each" and binding.node is not None:
                yield from self._item_consts(binding.node, binding.scope)
            else:
                yield UNKNOWN

    def _item_consts(self, node: ast.expr, scope: Scope) -> Iterable[Const]:
        items = self.items(node, scope)
        if not items or len(items) == MAX_ITEMS or isinstance(node, ast.Dict):
            yield UNKNOWN
        for item, inside in items:
            yield from self.consts(item, inside)

    def _attribute_consts(self, node: ast.Attribute, scope: Scope) -> Iterable[Const]:
        names = self.names(node, scope)
        if "sys.executable" in names:
            yield Const("python3")
        elif node.attr == "parent" and any(name.startswith("pathlib.") for name in names):
            yield from (
                Const(c.value.rstrip("/").rpartition("/")[0] or "/")
                if isinstance(c.value, str) and c.whole
                else UNKNOWN
                for c in self.consts(node.value, scope)
            )
        else:
            yield UNKNOWN

    def _operation(self, node: ast.BinOp, scope: Scope) -> Iterable[Const]:
        operate = OPERATIONS.get(type(node.op))
        if operate is None:
            return [UNKNOWN]
        left, right = self.consts(node.left, scope), self.consts(node.right, scope)
        if len(left) * len(right) > MAX_CHOICES:
            return [UNKNOWN]
        return [operate(a, b) for a in left for b in right]

    def _fstring(self, node: ast.JoinedStr, scope: Scope) -> Iterable[Const]:
        text = Const("")
        for part in node.values:
            plain = not isinstance(part, ast.FormattedValue) or (
                part.conversion == -1 and part.format_spec is None
            )
            values = self.consts(part.value if isinstance(part, ast.FormattedValue) else part, scope)
            if not plain or len(values) != 1:
                return [Const(text.value, False)]
            text = add(text, as_text(values[0]))
            if not text.whole:
                break
        return [text]

    def _subscript_consts(self, node: ast.Subscript, scope: Scope) -> Iterable[Const]:
        if isinstance(node.slice, ast.Slice):
            return self._sliced(node.value, node.slice, scope)
        return list(self._item_consts(node.value, scope))

    def _sliced(self, value: ast.expr, part: ast.Slice, scope: Scope) -> list[Const]:
        bounds: list[int | None] = []
        for bound in (part.lower, part.upper, part.step):
            number = self.number(bound, scope) if bound is not None else None
            if bound is not None and number is None:
                return [UNKNOWN]
            bounds.append(number)
        if bounds[2] == 0:
            return [UNKNOWN]
        cut = slice(*bounds)
        return [
            Const(c.value[cut]) if c.whole and isinstance(c.value, (str, bytes)) else UNKNOWN
            for c in self.consts(value, scope)
        ]

    def number(self, node: ast.expr, scope: Scope) -> int | None:
        """The one whole number that the expression stands for."""
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            sign, node = -1, node.operand
        values = self.consts(node, scope)
        if len(values) == 1 and values[0].whole and isinstance(values[0].value, int):
            return sign * values[0].value
        return None

    def _either_const(self, node: ast.IfExp, scope: Scope) -> Iterable[Const]:
        return [*self.consts(node.body, scope), *self.consts(node.orelse, scope)]

    def _inner_const(self, node: ast.NamedExpr | ast.FormattedValue, scope: Scope) -> Iterable[Const]:
        return self.consts(node.value, scope)

    def _call_consts(self, node: ast.Call, scope: Scope) -> Iterable[Const]:
        names = self.names(node.func, scope)
        for name in names:
            if name in effects.PATH_MAKERS:
                return self._joined_paths(node.args, scope)
            if name in effects.PATH_KEEPERS and node.args:
                return [as_text(c) for c in self.consts(node.args[0], scope)]
            if name == "pathlib.Path.home":
                return [Const("~")]
            if name in DECODERS and node.args:
                return [applied(DECODERS[name], c) for c in self.consts(node.args[0], scope)]
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, scope)
        return [UNKNOWN]

    def _joined_paths(self, parts: list[ast.expr], scope: Scope) -> list[Const]:
        path = [Const("")]
        for part in parts:
            more = self.consts(part, scope)
            if len(path) * len(more) > MAX_CHOICES:
                return [UNKNOWN]
            path = [slash(a, b) for a in path for b in more]
        return path

    def _method(self, node: ast.Call, function: ast.Attribute, scope: Scope) -> list[Const]:
        if function.attr == "join" and len(node.args) == 1:
            return self._text_join(function.value, node.args[0], scope)
        receivers = self.consts(function.value, scope)
        if function.attr == "joinpath":
            return [slash(a, b) for a in receivers for b in self._joined_paths(node.args, scope)][
                :MAX_CHOICES
            ]
        if function.attr in ("absolute", "expanduser", "resolve", "as_posix"):
            return list(receivers)
        if function.attr == "format":
            return [until(c, "{") for c in receivers]
        method = METHODS.get(function.attr)
        arguments = [self.consts(argument, scope) for argument in node.args]
        if method is None or len(receivers) != 1 or any(len(a) != 1 or not a[0].whole for a in arguments):
            return [UNKNOWN]
        values = [a[0].value for a in arguments]
        return [applied(lambda receiver: method(receiver, *values), receivers[0])]

    def _text_join(self, separator: ast.expr, parts: ast.expr, scope: Scope) -> list[Const]:
        """``sep.join([…])``, also over ``reversed(…)`` and ``map(chr, …)``."""
        wrappers: list[str] = []
        while isinstance(parts, ast.Call) and isinstance(parts.func, ast.Name) and parts.args:
            wrappers.append(parts.func.id if len(parts.args) == 1 else _mapped(parts.args[0]))
            parts = parts.args[-1]
        pieces = self._pieces(parts, scope)
        between = self.consts(separator, scope)
        if pieces is None or len(between) != 1 or not set(wrappers) <= {"reversed", "list", "tuple", "chr"}:
            return [UNKNOWN]
        if "chr" in wrappers:
            pieces = [applied(chr, piece) for piece in pieces]
        if wrappers.count("reversed") % 2:
            pieces.reverse()
        if not all(piece.whole for piece in pieces):
            return [UNKNOWN]
        values = [piece.value for piece in pieces]
        return [applied(lambda text: text.join(values), between[0])]

    def _pieces(self, parts: ast.expr, scope: Scope) -> list[Const] | None:
        if isinstance(parts, ast.Constant) and isinstance(parts.value, (str, bytes)):
            return [Const(piece) for piece in parts.value[:MAX_TEXT]]
        pieces: list[Const] = []
        for item, inside in self.items(parts, scope):
            values = self.consts(item, inside)
            if len(values) != 1:
                return None
            pieces.append(values[0])
        return pieces if pieces and len(pieces) < MAX_CHOICES else None


def _join(base: str, attribute: str) -> str:
    return f"{base}.{attribute}"[:MAX_TEXT]


def _mapped(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else "?"


_NAMES: dict[type[ast.AST], Any] = {
    ast.Attribute: Resolver._attribute,
    ast.Call: Resolver._call_name,
    ast.Subscript: Resolver._subscript_name,
    ast.IfExp: Resolver._choice,
    ast.BoolOp: Resolver._either,
    ast.NamedExpr: Resolver._inner,
    ast.Await: Resolver._inner,
    ast.Starred: Resolver._inner,
    ast.BinOp: Resolver._divided,
}

_CONSTS: dict[type[ast.AST], Any] = {
    ast.Attribute: Resolver._attribute_consts,
    ast.BinOp: Resolver._operation,
    ast.JoinedStr: Resolver._fstring,
    ast.Subscript: Resolver._subscript_consts,
    ast.IfExp: Resolver._either_const,
    ast.NamedExpr: Resolver._inner_const,
    ast.FormattedValue: Resolver._inner_const,
    ast.Call: Resolver._call_consts,
}
