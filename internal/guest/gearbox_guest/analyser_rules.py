"""Rules on names and attributes: what a program reaches for.

An honest program trips none of them. Each rule has a word, the target of the
permission ``unsafe``:

``eval exec compile``  source text is run · ``dynamic_import`` a module is chosen
by a value · ``dynamic_attribute`` an attribute is · ``dunder`` a special
attribute leads out of the object · ``frames`` frames and code objects ·
``namespace`` the dictionaries behind names · ``reexport`` a module is reached
through another · ``private`` an underscore attribute of a module · ``pickle``
data that runs code · ``code_object`` code is built or replaced · ``monkeypatch``
a module is changed · ``interpreter_hook debugger site_builtins gc native ctypes
subinterpreter remote_exec`` machinery of the interpreter · ``unicode`` text that
deceives · ``unanalysable`` the facts are incomplete.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from typing import Any

from . import analyser_calls as calls
from . import analyser_choice as choice
from . import analyser_tables as tables
from . import analyser_tools as tools
from .analyser_names import GIVE_NAMES, Resolver
from .analyser_report import Report
from .analyser_scope import Scope, Walker
from .analyser_spelling import field_names, is_literal, is_module, reached, special

_MAX_ANNOTATIONS = 500
_MAX_SPECIAL = 64
_LEADS_OUT = re.compile(r"@\s*\w+\s*[.(\[]|__|\bimport\b|\b(?:eval|exec|open|getattr)\s*\(")


class Rules:
    """Applies the rules to one program."""

    def __init__(self, report: Report, walker: Walker) -> None:
        self.report = report
        self.resolver = Resolver()
        self._walker = walker
        self._handled: set[int] = set()
        self._explained: set[int] = set()
        """help, where it tells of the package tools: of other things it can tell too much."""
        self._looked_at: set[int] = set()
        """What is looked at and not called, should it be a function of a tool."""
        self._special_texts: set[str] = set()
        self._chosen: list[ast.AST] = []
        """Places where a variable chooses an attribute, innocent unless special names are about."""
        self._annotations = 0
        self._made_annotations = False
        """Annotations are reached other than by writing them, and may then be any text."""
        self._hints: ast.AST | None = None

    def apply(self, nodes: list[tuple[ast.AST, Scope]]) -> None:
        """Apply every rule to every node."""
        for node, scope in nodes:
            rule = _RULES.get(type(node))
            if rule is not None:
                rule(self, node, scope)

    def finish(self) -> None:
        """Judge what only the whole program tells."""
        if self._special_texts:
            for node in self._chosen:
                self.report.add("unsafe", "dunder", min(self._special_texts), node)
        if self._hints is not None and self._made_annotations:
            self.report.add("unsafe", "eval", "typing.get_type_hints", self._hints)

    # --- Imports ---------------------------------------------------------------------------------

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            self._module(alias.name, "import", node)

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        if node.level:
            # A relative import means whatever __package__ was set to.
            self.report.add("unsafe", "dynamic_import", "from .", node)
            return
        module = node.module or ""
        names = [alias.name for alias in node.names]
        if any(f"{module}.{name}" not in tables.MODULES for name in names):
            self._module(module, "from", node)
        for name in names:
            if f"{module}.{name}" in tables.MODULES:
                self._module(f"{module}.{name}", "from", node)
            self._reference(f"{module}.{name}", node)
            self._special(name, f"{module}.{name}", node)

    def _module(self, name: str, via: str, node: ast.AST) -> None:
        if name == "__future__" or tools.is_package(
            name
        ):  # a directive to the compiler; what every program has
            return
        self.report.add("import", name, via, node)
        for known in (name, name.partition(".")[0]):
            if known in tables.UNSAFE_MODULES:
                self.report.add("unsafe", tables.UNSAFE_MODULES[known], f"import {name}", node)

    # --- Names and attributes --------------------------------------------------------------------

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        if id(node) in self._explained:
            return
        for name in self.resolver.names(node, scope):
            self._reference(name, node)
            self._bare(name, node)
            self._tool(name, node)

    def _tool(self, name: str, node: ast.AST) -> None:
        if id(node) not in self._looked_at:
            tools.reference(self.report, name, node)

    def _bare(self, name: str, node: ast.AST) -> None:
        """Functions that rules know as calls, passed around instead."""
        word = _BARE.get(name)
        if word is not None and id(node) not in self._handled:
            self.report.add("unsafe", word, name, node)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        names = self.resolver.names(node, scope)
        for name in names:
            self._reference(name, node)
            self._bare(name, node)
            self._tool(name, node)
        if node.attr.startswith("__"):
            self._looked_at.add(id(node.value))
        if id(node) not in self._handled and not self._walks_own(node.attr, node.value, scope):
            self._special(node.attr, names[0] if names else node.attr, node)
        if node.attr in tables.UNSAFE_SUFFIXES:
            self.report.add("unsafe", tables.UNSAFE_SUFFIXES[node.attr], node.attr, node)
        if node.attr in ("format", "format_map"):
            self._templates(node.value, node, scope)
        if node.attr == "__annotations__":
            self._made_annotations = True
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self._patched(node, scope)
        elif node.attr == "obj" and "<error>" in self.resolver.names(node.value, scope):
            self.report.add("unsafe", "frames", "AttributeError.obj", node)

    def _patched(self, node: ast.Attribute, scope: Scope) -> None:
        for base in self.resolver.names(node.value, scope):
            name = f"{base}.{node.attr}"
            if is_module(base) and name not in tables.MAY_BE_PATCHED:
                self.report.add("unsafe", "monkeypatch", name, node)

    def _reference(self, name: str, node: ast.AST) -> None:
        """Judge one dotted name."""
        if name == "typing.get_type_hints":
            self._hints = node
        for word, module in reached(name):
            self.report.add("unsafe", word, name, node)
            if module:
                self._module(module, name, node)

    def _special(self, attribute: str, name: str, node: ast.AST) -> None:
        """Judge the spelling of an attribute, whatever it is an attribute of."""
        word = special(attribute)
        if word is not None and name not in tables.IMPORTERS:
            self.report.add("unsafe", word, name, node)

    def _walks_own(self, attribute: str, base: ast.expr, scope: Scope) -> bool:
        return attribute in tables.CLASS_WALK and choice.own_class(
            self.resolver, base, scope, attribute == "__subclasses__"
        )

    def _match(self, node: ast.MatchClass, scope: Scope) -> None:
        for attribute in node.kwd_attrs:
            if special(attribute) or attribute == "__class__" or attribute == "__dict__":
                self.report.add("unsafe", special(attribute) or "dunder", f"case {attribute}", node)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> None:
        calls.environment_item(self.report, self.resolver, node, scope)
        if self.resolver.texts(node.slice, scope):
            self._looked_into(node.value)
        for name in self.resolver.names(node, scope):
            self._reference(name, node)
        for text in self.resolver.texts(node.slice, scope):
            if special(text):
                self.report.add("unsafe", "dunder", text, node)

    def _compare(self, node: ast.Compare, scope: Scope) -> None:
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            self._looked_into(node.comparators[0])

    def _looked_into(self, node: ast.expr) -> None:
        """``globals()`` is innocent where one plain name is looked up in it."""
        if isinstance(node, ast.Call) and not node.args:
            self._handled.add(id(node.func))

    def _constant(self, node: ast.Constant, scope: Scope) -> None:
        if not isinstance(node.value, str) or len(node.value) > _MAX_SPECIAL:
            return
        if special(node.value):
            self._special_texts.add(node.value)
        if node.value == "__annotations__":
            self._made_annotations = True

    # --- Annotations -----------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        arguments = node.args
        everyone = [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]
        for argument in everyone:
            if argument is not None and argument.annotation is not None:
                self.typed(argument.annotation, scope)
        if node.returns is not None:
            self.typed(node.returns, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.typed(node.annotation, scope)

    def typed(self, annotation: ast.AST, scope: Scope) -> None:
        """Text in an annotation is evaluated by typing.get_type_hints, so that it is judged as code."""
        work = [annotation]
        while work:
            node = work.pop()
            if isinstance(node, ast.Subscript) and is_literal(node.value):
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._evaluated(node, node.value, scope)
            work += ast.iter_child_nodes(node)

    def _evaluated(self, place: ast.Constant, text: str, scope: Scope) -> None:
        if "(" not in text and "." not in text and "_" not in text:
            return  # a plain name or a subscript of names does nothing
        self._annotations += 1
        if self._annotations > _MAX_ANNOTATIONS:
            self.report.add("unsafe", "unanalysable", "too many annotations in quotes", place)
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = compile(text, "/dev/null/<annotation>", "eval", ast.PyCF_ONLY_AST, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        assert isinstance(tree, ast.Expression)
        for node in ast.walk(tree):
            ast.copy_location(node, place)
        self.apply(self._walker.walk(tree, scope))

    # --- Calls -----------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope) -> None:
        names = self.resolver.names(node.func, scope)
        tools.call_by_name(self.report, self.resolver, node, scope, names)
        if tools.only_looks(names):
            self._looked_at.update(id(argument) for argument in node.args)
            if tools.explains(self.resolver, node, scope, names):
                self._explained.add(id(node.func))
        for name in names:
            rule = _CALLS.get(name)
            if rule is not None:
                rule(self, node, scope, name)
            if name in GIVE_NAMES:  # getattr(module, "name"), vars(module)
                for given in self.resolver.names(node, scope):
                    self._reference(given, node)
                    self._tool(given, node)
        if isinstance(node.func, ast.Attribute):
            self._method(node, node.func, scope, names)
        calls.report_effects(self.report, self.resolver, node, scope, names)

    def _method(self, node: ast.Call, function: ast.Attribute, scope: Scope, names: tuple[str, ...]) -> None:
        if node.args and any(name in _FORMATS or name.startswith("string.Formatter()") for name in names):
            self._templates(node.args[0], node, scope)
        elif function.attr in tables.EVALUATED_METHODS and node.args:
            self._evaluated_text(node, scope, function.attr)
        elif function.attr == "get" and node.args and self.resolver.texts(node.args[0], scope):
            self._looked_into(function.value)
        elif function.attr == "__getattribute__" and node.args:
            self._handled.add(id(function))
            self._attribute_choice(
                node, node.args[-1], scope, function.value if len(node.args) == 1 else node.args[0]
            )

    def _evaluated_text(self, node: ast.Call, scope: Scope, name: str) -> None:
        """Expressions for data frames and symbols: harmless unless they call or walk."""
        for text in self.resolver.texts(node.args[0], scope):
            if _LEADS_OUT.search(text):
                self.report.add("unsafe", "eval", name, node)

    def _templates(self, template: ast.expr, node: ast.AST, scope: Scope) -> None:
        for const in self.resolver.consts(template, scope):
            if isinstance(const.value, str) and "{" in const.value:
                self._template(const.value, node)

    def _template(self, template: str, node: ast.AST) -> None:
        """The fields of a format string walk attributes and items of what is formatted."""
        for attribute in field_names(template):
            word = special(attribute)
            if word is not None:
                self.report.add("unsafe", word, f"format {{{attribute}}}", node)

    def _import_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        self._handled.add(id(node.func))
        values = self.resolver.consts(node.args[0], scope) if node.args else ()
        for const in values:
            if const.whole and isinstance(const.value, str) and not const.value.startswith("."):
                self._module(const.value, "__import__", node)
            else:
                self.report.add("unsafe", "dynamic_import", "__import__", node)
        if not values:
            self.report.add("unsafe", "dynamic_import", "__import__", node)

    def _attribute_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        self._handled.add(id(node.func))
        if len(node.args) < 2 or any(isinstance(a, ast.Starred) for a in node.args[:2]):
            self.report.add("unsafe", "dynamic_attribute", "getattr", node)
            return
        self._attribute_choice(node, node.args[1], scope, node.args[0])
        for base in self.resolver.names(node.args[0], scope):
            if isinstance(node.func, ast.Name) and node.func.id != "getattr" and is_module(base):
                self.report.add("unsafe", "monkeypatch", base, node)

    def _getter_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        self._handled.add(id(node.func))
        for argument in node.args:
            for text in self.resolver.texts(argument, scope):
                for attribute in text.split("."):
                    if special(attribute) or attribute in ("__class__", "__dict__"):
                        self.report.add("unsafe", special(attribute) or "dunder", text, node)
            if not choice.innocent(self.resolver, argument, scope):
                self.report.add("unsafe", "dynamic_attribute", "operator.attrgetter", node)
            self._chosen.append(node)

    def _typed_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            self.typed(argument, scope)

    def _vars_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        if not node.args and id(node.func) not in self._handled:
            self.report.add("unsafe", "namespace", name, node)

    def _run_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        if node.args and self.resolver.texts(node.args[0], scope):
            self.report.add("unsafe", tables.STRINGS_RUN[name], name, node)

    def _array_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        if any(k.arg == "allow_pickle" and not _is_false(k.value) for k in node.keywords):
            self.report.add("unsafe", "pickle", name, node)

    def _evaluated_call(self, node: ast.Call, scope: Scope, name: str) -> None:
        if node.args:
            self._evaluated_text(node, scope, name)

    def _attribute_choice(self, node: ast.Call, name: ast.expr, scope: Scope, base: ast.expr) -> None:
        """An attribute named by a value: judged by its spelling, or else by who chooses it."""
        consts = self.resolver.consts(name, scope)
        for const in consts:
            if const.whole and isinstance(const.value, str) and not self._walks_own(const.value, base, scope):
                self._special(const.value, const.value, node)
        if all(const.whole for const in consts):
            return
        self._chosen.append(node)
        if not choice.innocent(self.resolver, name, scope) or choice.outside(self.resolver, base, scope):
            self.report.add("unsafe", "dynamic_attribute", "getattr", node)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


_RULES: dict[type[ast.AST], Any] = {
    ast.Import: Rules._import,
    ast.ImportFrom: Rules._import_from,
    ast.Name: Rules._name,
    ast.Attribute: Rules._attribute,
    ast.Subscript: Rules._subscript,
    ast.Call: Rules._call,
    ast.MatchClass: Rules._match,
    ast.Constant: Rules._constant,
    ast.FunctionDef: Rules._function,
    ast.AsyncFunctionDef: Rules._function,
    ast.AnnAssign: Rules._annotated,
    ast.Compare: Rules._compare,
}

_BARE = {
    **dict.fromkeys(tables.ATTRIBUTE_READERS, "dynamic_attribute"),
    **dict.fromkeys(tables.IMPORTERS, "dynamic_import"),
    **dict.fromkeys(tables.NAMESPACES, "namespace"),
}
_FORMATS = frozenset({"builtins.str.format", "builtins.str.format_map"})
_CALLS: dict[str, Callable[[Rules, ast.Call, Scope, str], None]] = {
    **dict.fromkeys(tables.STRINGS_TYPED, Rules._typed_call),
    **dict.fromkeys(tables.STRINGS_RUN, Rules._run_call),
    **dict.fromkeys(tables.EVALUATED_CALLS, Rules._evaluated_call),
    "builtins.vars": Rules._vars_call,
    "numpy.load": Rules._array_call,
    **dict.fromkeys(tables.IMPORTERS, Rules._import_call),
    **dict.fromkeys(tables.ATTRIBUTE_READERS, Rules._attribute_call),
    **dict.fromkeys(tables.ATTRIBUTE_GETTERS, Rules._getter_call),
}
