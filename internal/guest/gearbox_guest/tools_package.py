"""The package tools, as a program imports it, with one module for each server.

A server's functions are described by the host when the program first asks for them, once in a run. A program that calls
no tool asks nothing.
"""

from __future__ import annotations

import difflib
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from . import calls, own, tools_errors, tools_functions, tools_values

__builtins__ = own.BUILTINS  # type: ignore[assignment]

NAME = "tools"
VERSION = 1  # of the descriptions of modules
_MAX_THREADS = 16
_SHOWN = 20

_loaded = sys.modules  # bound when the module is loaded: a program may replace it

_DOC = """The tools of other MCP servers as functions, one module for each server.

    from tools import github
    issue = github.create_issue(title="…")                  # waits; arguments by name only
    a, b = await asyncio.gather(github.aio.get_issue(number=1), github.aio.get_issue(number=2))

dir(tools) lists the servers, dir(github) its functions, help(github.create_issue) tells of one.
search() and describe() find tools, call() calls one by its raw name, parallel() runs several at once.
A failed call raises ToolError or one of its subclasses, whose message says how to mend it.

This package comes before every other module of the name tools, also a file tools.py of the workspace.
"""

_FUNCTIONS = ("call", "describe", "parallel", "search")
_OWN = (*_FUNCTIONS, "aio", "Blob", "ResourceLink", *tools_errors.CLASSES)


class Package(ModuleType):
    """The module tools. Servers are attributes of it."""

    def __init__(self, talk: calls.Calls) -> None:
        super().__init__(NAME, _DOC)
        self._client = client = tools_functions.Client(talk)
        self._known: dict[str, dict[str, Any]] | None = None
        self._servers: dict[str, Server] = {}
        self.aio = Twin(f"{NAME}.aio", {"call": _call_async(client)})
        self.Blob, self.ResourceLink = tools_values.Blob, tools_values.ResourceLink
        self.__dict__.update(tools_errors.CLASSES)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {NAME!r} has no attribute {name!r}", name=name, obj=self)
        found = self.server(name)
        if found is None:
            raise AttributeError(self.missing(name), name=name, obj=self)
        return found

    def __dir__(self) -> list[str]:
        try:
            return sorted((*_OWN, *self._modules()))
        except tools_errors.ToolError:
            return sorted(_OWN)  # a listing tells what there is

    def server(self, name: str) -> Server | None:
        """The module of a server by its name in Python. Raises ToolError when the host cannot tell."""
        known = self._modules().get(name)
        if known is None or name in self._servers:
            return self._servers.get(name)
        described = self._described({"want": "module", "server": known["server"]})
        found = self._servers.setdefault(name, Server(self._client, name, described))
        _loaded[found.__name__] = found
        return found

    def missing(self, name: str) -> str:
        """Tell that there is no such server, and which there are."""
        known = sorted(self._modules())
        near = difflib.get_close_matches(name, known, 3, 0.5)
        listed = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
        return (
            f"there is no MCP server {name!r}"
            + (f"; did you mean {' or '.join(near)}?" if near else f"; there are: {listed or 'none'}")
            + " (tools is the package of the MCP servers, and comes before a file tools.py)"
        )

    def call(
        self, server: str, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = 0
    ) -> Any:
        """Call a tool by its raw name, with arguments by their raw names. timeout is in seconds."""
        return self._client.ask(*_call(server, tool, arguments, timeout))

    def search(
        self, query: str, server: str | None = None, limit: int = 10, detail: str = "signature"
    ) -> str:
        """Search the tools of all servers, or of one. detail is name, brief, signature, full or schema."""
        head = {"want": "search", "query": query, "server": server or "", "limit": limit, "detail": detail}
        return str(self._client.ask(head))

    def describe(self, names: str | Iterable[str], detail: str = "full") -> str:
        """Describe tools by their names, as in "github.create_issue"."""
        listed = [names] if isinstance(names, str) else list(names)
        return str(self._client.ask({"want": "describe", "names": listed, "detail": detail}))

    def parallel(
        self,
        work: Iterable[Callable[[], Any] | tuple[Callable[..., Any], Mapping[str, Any]]],
        *,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Do several things at once: functions without arguments, or pairs of a function and its arguments by name.

        The results come in the order of the work. When something fails the first exception is raised once all has
        ended; with return_exceptions it stands among the results.
        """
        outcomes = _all(_job(item) for item in work)
        if not return_exceptions:
            for outcome in outcomes:
                if isinstance(outcome, _Failed):
                    raise outcome.error
        return [o.error if isinstance(o, _Failed) else o for o in outcomes]

    def _modules(self) -> dict[str, dict[str, Any]]:
        if self._known is None:
            listed = self._described({"want": "module"})["modules"]
            self._known = {str(m["module"]): m for m in listed}
        return self._known

    def _described(self, head: dict[str, Any]) -> dict[str, Any]:
        described = self._client.ask(head)
        if not isinstance(described, dict) or described.get("version") != VERSION:
            raise tools_errors.ToolError("the host describes its tools in a form that is not known here")
        return described


class Twin:
    """Functions to await, by the names of those that block."""

    def __init__(self, name: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._name = name
        self.__dict__.update(functions)

    def __repr__(self) -> str:
        return f"<functions to await {self._name!r}>"


class Server(ModuleType):
    """The module of one server. Its functions are made when they are first used."""

    def __init__(self, client: tools_functions.Client, module: str, described: dict[str, Any]) -> None:
        super().__init__(f"{NAME}.{module}", str(described.get("doc") or "") or None)
        self._client = client
        self._module = module
        self._server = str(described["server"])
        self._described = {str(f["python"]): f for f in described["functions"]}
        self._made: dict[str, tools_functions.Twins] = {}
        self.aio = ServerTwin(self)
        self.__all__ = sorted(self._described)

    def __getattr__(self, name: str) -> Any:
        return self.twins(name).sync

    def __dir__(self) -> list[str]:
        return [*self.__all__, "aio"]

    def twins(self, name: str) -> tools_functions.Twins:
        """Both functions of a tool by its name in Python. Raises ToolNotFound."""
        made = self._made.get(name)
        if made is not None:
            return made
        described = self._described.get(name)
        if described is None:
            raise self._missing(name)
        return self._made.setdefault(
            name, tools_functions.make(self._client, self._server, self._module, described)
        )

    def _missing(self, name: str) -> tools_errors.ToolNotFound:
        near = difflib.get_close_matches(name, self.__all__, 3, 0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; dir({self._module}) lists its tools"
        return tools_errors.ToolNotFound(
            f"the server {self._server} has no tool {name}{hint}", server=self._server, tool=name
        )


class ServerTwin:
    """The functions of one server to await."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return self._server.twins(name).aio

    def __dir__(self) -> list[str]:
        return list(self._server.__all__)

    def __repr__(self) -> str:
        return f"<functions to await '{self._server.__name__}.aio'>"


def _call(
    server: str, tool: str, arguments: Mapping[str, Any] | None, timeout: float
) -> tuple[dict[str, Any], bytes]:
    head = {"want": "call", "server": server, "tool": tool, "timeout": timeout or 0}
    return head, tools_values.encode({} if arguments is None else arguments)


def _call_async(client: tools_functions.Client) -> Callable[..., Any]:
    async def call(
        server: str, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float = 0
    ) -> Any:
        """Call a tool by its raw name, with arguments by their raw names. timeout is in seconds."""
        return await client.ask_async(*_call(server, tool, arguments, timeout))

    call.__module__, call.__qualname__ = NAME, f"{NAME}.aio.call"
    return call


# --- Several at once -------------------------------------------------------------------------------


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Job:
    """Something to do: begin starts it where that needs no thread, and then finish waits for it."""

    def __init__(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self._function = function
        self._arguments = dict(arguments)
        self._begin = getattr(function, tools_functions.BEGIN, None)
        self._wait: Callable[[], Any] | None = None

    def begins(self) -> bool:
        return self._begin is not None

    def begin(self) -> None:
        if self._begin is not None:
            self._wait = self._begin(**self._arguments)

    def finish(self) -> Any:
        return self._wait() if self._wait is not None else self._function(**self._arguments)


def _job(item: Any) -> _Job:
    if callable(item):
        return _Job(item, {})
    if (
        isinstance(item, (tuple, list))
        and len(item) == 2
        and callable(item[0])
        and isinstance(item[1], Mapping)
    ):
        return _Job(item[0], item[1])
    raise TypeError(
        f"parallel() takes functions, or pairs (function, {{argument: value}}), and was given {type(item).__name__}: "
        "write lambda: github.get_issue(number=1), or (github.get_issue, {'number': 1})"
    )


def _all(work: Iterable[_Job]) -> list[Any]:
    jobs = list(work)
    outcomes: list[Any] = [None] * len(jobs)
    waiting = iter([n for n, job in enumerate(jobs) if not job.begins()])

    def attempt(number: int, do: Callable[[], Any]) -> None:
        try:
            outcomes[number] = do()
        except Exception as exc:  # noqa: BLE001 - told by its place
            outcomes[number] = _Failed(exc)

    def take_turns() -> None:
        for number in waiting:
            attempt(number, jobs[number].finish)

    plain = sum(not job.begins() for job in jobs)
    threads = [threading.Thread(target=take_turns) for _ in range(min(_MAX_THREADS, plain))]
    for thread in threads:
        thread.start()
    begun = [n for n, job in enumerate(jobs) if job.begins()]
    for place, number in enumerate(begun):
        if place >= calls.MAX_AT_ONCE:
            _finish(jobs, outcomes, begun[place - calls.MAX_AT_ONCE], attempt)
        attempt(number, jobs[number].begin)
    for number in begun[-calls.MAX_AT_ONCE :]:
        _finish(jobs, outcomes, number, attempt)
    for thread in threads:
        thread.join()
    return outcomes


def _finish(
    jobs: list[_Job], outcomes: list[Any], number: int, attempt: Callable[[int, Callable[[], Any]], None]
) -> None:
    if not isinstance(outcomes[number], _Failed):
        attempt(number, jobs[number].finish)
