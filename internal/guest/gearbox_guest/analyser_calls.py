"""Effects of calls: files, network, programs, environment and installations.

A fact is reported only for a constant argument. A path or host that is computed
is left to the sandbox, which sees it when it is used; a program that is computed
is reported as any program, because there are few programs and many paths.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from . import analyser_effects as effects
from .analyser_names import Resolver
from .analyser_report import Report
from .analyser_scope import Scope
from .analyser_shell import UNKNOWN_PROGRAM, program, programs, requirements


@dataclass(slots=True)
class _Call:
    """One call under one of the names that its function has."""

    report: Report
    resolver: Resolver
    node: ast.Call
    scope: Scope
    name: str

    def argument(self, place: int, *keywords: str) -> ast.expr | None:
        """The argument at the place, or under one of the keywords."""
        for keyword in self.node.keywords:
            if keyword.arg in keywords:
                return keyword.value
        if -len(self.node.args) <= place < len(self.node.args):
            found = self.node.args[place]
            return None if isinstance(found, ast.Starred) else found
        return None

    def texts(self, node: ast.expr | None) -> list[str]:
        """The constant texts that the argument may be."""
        return [] if node is None else self.resolver.texts(node, self.scope)

    def add(self, kind: str, target: str) -> None:
        """Report the call."""
        self.report.add(kind, target, self.name, self.node)


_VARIABLES = frozenset(
    {"os.getenv", "os.environ.get", "os.environ.pop", "os.environ.__getitem__", "os.getenvb"}
)
_STARTERS = frozenset({"os", "subprocess", "asyncio", "pty", "posix", "pip", "webbrowser"})
"""Modules that start programs."""

_ROOTS = _STARTERS | {"pathlib"}
_KNOWN = _VARIABLES.union(
    effects.OPENERS,
    effects.READERS,
    effects.WRITERS,
    effects.URL_CALLS,
    effects.HOST_CALLS,
    effects.ADDRESS_CALLS,
)
"""Most calls are of no function here, nor of such a module, and do nothing outside the program."""


def report_effects(
    report: Report, resolver: Resolver, node: ast.Call, scope: Scope, names: tuple[str, ...]
) -> None:
    """Report what the call does outside the program."""
    for name in names:
        root = name.partition(".")[0]
        if name not in _KNOWN and root not in _ROOTS:
            continue
        call = _Call(report, resolver, node, scope, name)
        _files(call)
        _network(call)
        _environment(call)
        if root in _STARTERS:
            _programs(call)
    if isinstance(node.func, ast.Attribute) and node.func.attr in effects.TABLE_WRITES:
        call = _Call(report, resolver, node, scope, node.func.attr)
        _paths(call, "write", call.argument(0, "path_or_buf", "path", "fname", "excel_writer"))


# --- Files -----------------------------------------------------------------------------------------


def _files(call: _Call) -> None:
    name = call.name
    if name in effects.OPENERS:
        writes = _writes(call, call.argument(effects.OPENERS[name], "mode"))
        _paths(call, "write" if writes else "read", call.argument(0, "file", "filename", "name"))
    elif name.startswith("pathlib.") and "()." in name:
        _path_method(call, name.rpartition(".")[2])
    else:
        for place in effects.READERS.get(name, ()):
            _paths(call, "read", call.argument(place, "path", "filename", "file"))
        for place in effects.WRITERS.get(name, ()):
            _paths(call, "write", call.argument(place, "path", "filename", "name"))


def _path_method(call: _Call, method: str) -> None:
    function = call.node.func
    if not isinstance(function, ast.Attribute):
        return
    if method in effects.PATH_READS:
        _paths(call, "read", function.value)
    elif method in effects.PATH_WRITES:
        _paths(call, "write", function.value)
        if method in ("rename", "replace"):
            _paths(call, "write", call.argument(0, "target"))
    elif method == "open":
        _paths(call, "write" if _writes(call, call.argument(0, "mode")) else "read", function.value)


def _writes(call: _Call, mode: ast.expr | None) -> bool:
    """Whether the mode may write; one that is not constant may."""
    if mode is None:
        return False
    modes = call.resolver.consts(mode, call.scope)
    return any(not m.whole or not isinstance(m.value, str) or set("wax+") & set(m.value) for m in modes)


def _paths(call: _Call, kind: str, node: ast.expr | None) -> None:
    for path in call.texts(node):
        if path and path != ":memory:" and "\0" not in path and "://" not in path:
            call.add(kind, path)


# --- Network ---------------------------------------------------------------------------------------


def _network(call: _Call) -> None:
    name = call.name
    if name in effects.URL_CALLS:
        for keyword in effects.URL_KEYWORDS:
            _urls(call, call.argument(len(call.node.args), keyword))
        _urls(call, call.argument(effects.URL_CALLS[name]))
    elif name in effects.HOST_CALLS:
        place, port_place, usual = effects.HOST_CALLS[name]
        port = (
            call.argument(port_place, "port")
            if port_place >= 0
            else call.argument(len(call.node.args), "port")
        )
        number = usual if port is None else call.resolver.number(port, call.scope)
        for host in call.texts(call.argument(place, "host", "hostname")):
            _host(call, host, number)
    elif name in effects.ADDRESS_CALLS:
        _address(call, call.argument(effects.ADDRESS_CALLS[name], "address"))


def _address(call: _Call, node: ast.expr | None) -> None:
    if node is None:
        return
    parts = call.resolver.items(node, call.scope)
    if len(parts) >= 2:
        (host, scope), (port, inside) = parts[0], parts[1]
        for text in call.resolver.texts(host, scope):
            _host(call, text, call.resolver.number(port, inside))


def _urls(call: _Call, node: ast.expr | None) -> None:
    for const in call.resolver.consts(node, call.scope) if node is not None else ():
        if isinstance(const.value, str) and (target := _url_target(const.value, const.whole)):
            call.add("net", target)


def _url_target(url: str, whole: bool) -> str:
    """host:port of the address, or nothing while either may still change."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    rest = url.partition("://")[2]
    if not host or not (whole or any(mark in rest for mark in "/?#")):
        return ""
    port = port if port is not None else effects.PORTS.get(parts.scheme.partition("+")[0].lower())
    return _target(host, port)


def _host(call: _Call, host: str, port: int | None) -> None:
    inner, colon, digits = host.rpartition(":")
    if colon and digits.isdigit() and ":" not in inner:  # http.client takes host:port as well
        host, port = inner, int(digits[:6])
    if target := _target(host.strip("[]"), port):
        call.add("net", target)


def _target(host: str, port: int | None) -> str:
    if not host or port is None or not 0 < port < 65_536 or any(c.isspace() or c == "/" for c in host):
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host.lower()}:{port}"


# --- Environment -----------------------------------------------------------------------------------


def _environment(call: _Call) -> None:
    if call.name in _VARIABLES:
        for variable in call.texts(call.argument(0, "key")):
            call.add("env", variable)


def environment_item(report: Report, resolver: Resolver, node: ast.Subscript, scope: Scope) -> None:
    """``os.environ["NAME"]`` reads the variable; setting one's own needs no permission."""
    if isinstance(node.ctx, ast.Load) and "os.environ" in resolver.names(node.value, scope):
        for variable in resolver.texts(node.slice, scope):
            report.add("env", variable, "os.environ", node)


# --- Programs --------------------------------------------------------------------------------------


def _programs(call: _Call) -> None:
    name = call.name
    loop = name.startswith("asyncio.") and "()." in name
    if name in effects.SHELL_CALLS:
        _shell(call, call.argument(0, "cmd", "command", "args"))
    elif name in effects.COMMAND_CALLS:
        _command(call, call.argument(0, "args", "argv"))
    elif name in effects.PROGRAM_CALLS:
        _words(call, list(_given(call, effects.PROGRAM_CALLS[name])))
    elif loop and name.endswith(".subprocess_shell"):
        _shell(call, call.argument(1, "cmd"))
    elif loop and name.endswith(".subprocess_exec"):
        _words(call, list(_given(call, 1)))
    elif name in ("pip.main", "pip._internal.main", "pip._internal.cli.main.main"):
        arguments = call.argument(0)
        _install(call, ["pip", *(_list(call, arguments) if arguments is not None else [])])
    elif name.startswith("webbrowser.open") or name == "webbrowser.get":
        call.add("run", UNKNOWN_PROGRAM)


def _given(call: _Call, place: int) -> Iterator[str]:
    for argument in call.node.args[place:]:
        texts = call.texts(argument)
        yield texts[0] if texts else UNKNOWN_PROGRAM


def _command(call: _Call, node: ast.expr | None) -> None:
    """A list of words, or text that a shell reads (without one it can only be one word)."""
    if node is None:
        call.add("run", UNKNOWN_PROGRAM)
        return
    words = _list(call, node)
    if words:
        _words(call, words)
    else:
        _shell(call, node)


def _list(call: _Call, node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp):  # ["git"] + arguments
        node = node.left
    if (
        isinstance(node, ast.Call)
        and "shlex.split" in call.resolver.names(node.func, call.scope)
        and node.args
        and (texts := call.texts(node.args[0]))
    ):
        simple = programs(texts[0])
        return simple[0] if simple else []
    words: list[str] = []
    for item, scope in call.resolver.items(node, call.scope):
        texts = call.resolver.texts(item, scope)
        words.append(texts[0] if texts else UNKNOWN_PROGRAM)
    return words


def _shell(call: _Call, node: ast.expr | None) -> None:
    consts = call.resolver.consts(node, call.scope) if node is not None else ()
    for const in consts:
        text = const.value.decode("utf-8", "replace") if isinstance(const.value, bytes) else str(const.value)
        commands = programs(text)
        if not const.whole:  # what is filled in later may start another program
            commands.append([UNKNOWN_PROGRAM])
        for words in commands:
            _words(call, words)
    if not consts:
        call.add("run", UNKNOWN_PROGRAM)


def _words(call: _Call, words: list[str]) -> None:
    call.add("run", program(words[0]) if words else UNKNOWN_PROGRAM)
    _install(call, words)


def _install(call: _Call, words: list[str]) -> None:
    for name in requirements(words):
        call.add("install", name)
