"""Makes a Python function of each tool, with the signature and the documentation that its server's module describes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from . import bridge, calls, own, tools_errors, tools_values

__builtins__ = own.BUILTINS  # type: ignore[assignment]

# Under this name a function has how to begin its call.
BEGIN = "__gearbox_begin__"


class Client:
    """Asks the host, and turns its answers into values and exceptions."""

    def __init__(self, talk: calls.Calls) -> None:
        self._talk = talk

    def ask(self, head: dict[str, Any], body: bytes = b"", usage: str = "") -> Any:
        """Ask and wait. usage is shown where the arguments are wrong."""
        return self.begin(head, body, usage)()

    def begin(self, head: dict[str, Any], body: bytes = b"", usage: str = "") -> Callable[[], Any]:
        """Ask, and return what waits for the value."""
        tools_values.check(head)
        try:
            due = self._talk.begin(head, body)
        except calls.ClosedError as exc:
            raise _unavailable(exc, head) from None

        def wait() -> Any:
            try:
                frame = due.wait()
            except calls.ClosedError as exc:
                raise _unavailable(exc, head) from None
            return self._value(head, frame, usage)

        return wait

    async def ask_async(self, head: dict[str, Any], body: bytes = b"", usage: str = "") -> Any:
        """Ask, and let the event loop go on meanwhile."""
        tools_values.check(head)
        try:
            frame = await self._talk.ask_async(head, body)
        except calls.ClosedError as exc:
            raise _unavailable(exc, head) from None
        return self._value(head, frame, usage)

    def _value(self, head: dict[str, Any], frame: bridge.Frame, usage: str) -> Any:
        server = head.get("server", "")

        def read(uri: str) -> Any:
            return self.ask({"want": "read", "server": server, "uri": uri})

        error = frame.head.get("error")
        if error:
            content, structured = tools_values.decode_error(error, frame.body, read)
            raise tools_errors.of(error, content, structured, usage)
        return tools_values.decode(frame.head, frame.body, read)


class Twins(NamedTuple):
    """One tool: a function that blocks, and one to await."""

    sync: Callable[..., Any]
    aio: Callable[..., Coroutine[Any, Any, Any]]


def make(client: Client, server: str, module: str, described: dict[str, Any]) -> Twins:
    """Make the functions of one tool."""
    name, written = str(described["python"]), str(described.get("signature") or "(**arguments)")
    usage = name + written
    raw = {str(p["python"]): str(p["raw"]) for p in described.get("parameters") or []}
    head = {"want": "call", "server": server, "tool": str(described["raw"])}

    def encode(positional: tuple[Any, ...], named: dict[str, Any]) -> bytes:
        if positional:
            raise _misused(head, f"{name}() takes its arguments by name only", usage)
        arguments: dict[str, Any] = {}
        for key, value in named.items():
            if raw.get(key, key) in arguments:
                raise _misused(head, f"{name}() got the argument {raw.get(key, key)} twice", usage)
            arguments[raw.get(key, key)] = value
        try:
            return tools_values.encode(arguments)
        except tools_errors.InvalidArguments as exc:
            exc.server, exc.tool = server, head["tool"]
            raise

    def begin(*positional: Any, **arguments: Any) -> Callable[[], Any]:
        return client.begin(head, encode(positional, arguments), usage)

    def sync(*positional: Any, **arguments: Any) -> Any:
        return client.ask(head, encode(positional, arguments), usage)

    async def aio(*positional: Any, **arguments: Any) -> Any:
        return await client.ask_async(head, encode(positional, arguments), usage)

    setattr(sync, BEGIN, begin)
    signature = _signature(written)
    for function, path in ((sync, f"{module}.{name}"), (aio, f"{module}.aio.{name}")):
        function.__name__, function.__qualname__ = name, path
        function.__module__ = f"tools.{module}"
        function.__doc__ = str(described.get("doc") or "") or None
        if signature is not None:
            setattr(function, "__signature__", signature)  # noqa: B010 - not in its type
    return Twins(sync, aio)


def _misused(head: dict[str, str], problem: str, usage: str) -> tools_errors.InvalidArguments:
    return tools_errors.InvalidArguments(
        f"{problem}: {usage}", server=head["server"], tool=head["tool"], problems=[problem]
    )


def _unavailable(exc: BaseException, head: dict[str, Any]) -> tools_errors.ServerUnavailable:
    return tools_errors.ServerUnavailable(str(exc), server=head.get("server", ""), tool=head.get("tool", ""))


class _Written(str):
    """Source text that is shown as it is written."""

    def __repr__(self) -> str:
        return str.__str__(self)


def _signature(written: str) -> inspect.Signature | None:
    """Read a signature without evaluating anything of it. It is an ornament: a program may have broken what reads it."""
    source = f"def f{written}: ..."
    try:
        function = ast.parse(source).body[0]
        assert isinstance(function, ast.FunctionDef)
        return _inspected(function, source)
    except Exception:  # noqa: BLE001
        return None


def _inspected(function: ast.FunctionDef, source: str) -> inspect.Signature:
    def text(node: ast.expr | None) -> Any:
        return (
            inspect.Parameter.empty
            if node is None
            else _Written(ast.get_source_segment(source, node) or "...")
        )

    found = [
        inspect.Parameter(
            a.arg, inspect.Parameter.KEYWORD_ONLY, default=text(d), annotation=text(a.annotation)
        )
        for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults)
    ]
    extra = function.args.kwarg
    if extra is not None:
        found.append(
            inspect.Parameter(extra.arg, inspect.Parameter.VAR_KEYWORD, annotation=text(extra.annotation))
        )
    return inspect.Signature(found, return_annotation=text(function.returns))
