"""A host that answers the calls of programs, in the thread that reads them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from typing import Any

from gearbox_guest import bridge
from harness import Ended, run

Answer = tuple[dict[str, Any], bytes]


def json_of(value: Any) -> Answer:
    """Answer with a JSON value."""
    return {"form": "json"}, json.dumps(value).encode()


def text_of(text: str) -> Answer:
    """Answer with text."""
    return {"form": "text"}, text.encode()


def error_of(name: str, message: str, body: bytes = b"", **more: Any) -> Answer:
    """Answer with an error."""
    return {"error": {"class": name, "message": message, "server": "git-hub", "tool": "t", **more}}, body


MODULES = {
    "version": 1,
    "modules": [
        {"module": "github", "server": "git-hub", "doc": "Issues."},
        {"module": "files", "server": "files", "doc": ""},
    ],
}
GITHUB = {
    "version": 1,
    "server": "git-hub",
    "module": "github",
    "doc": "Issues and pull requests.",
    "functions": [
        {
            "python": "create_issue",
            "raw": "create-issue",
            "signature": '(*, title: str, body: str = ..., from_: Literal["a", "b"] = ...) -> {"number": int}',
            "doc": "Create an issue.\n\nMore of it.",
            "parameters": [
                {"python": "title", "raw": "title", "required": True},
                {"python": "body", "raw": "body", "required": False},
                {"python": "from_", "raw": "from", "required": False},
            ],
        },
        {"python": "slow", "raw": "slow", "signature": "(*, n: int)", "doc": "", "parameters": []},
        {"python": "odd", "raw": "odd", "signature": "(no signature", "doc": "", "parameters": []},
    ],
}


class ToolHost:
    """Describes its modules, and answers all else by a function of the head and the arguments."""

    def __init__(self, answer: Callable[[dict[str, Any], Any], Answer] | None = None) -> None:
        self.heads: list[dict[str, Any]] = []
        self.cancelled: list[int] = []
        self._answer = answer or (lambda head, arguments: json_of({"head": head, "arguments": arguments}))

    def __call__(self, stream: bridge.Stream, frame: bridge.Frame) -> None:
        if frame.kind == bridge.CANCEL:
            self.cancelled.append(frame.id)
            return
        assert frame.kind == bridge.CALL, frame
        self.heads.append(frame.head)
        self.take(stream, frame)

    def take(self, stream: bridge.Stream, frame: bridge.Frame) -> None:
        """Answer a call at once."""
        head, body = self.of(frame)
        stream.write_frame(bridge.CALL, frame.id, head, body)

    def of(self, frame: bridge.Frame) -> Answer:
        """What the answer is."""
        head = frame.head
        if head["want"] == "module":
            return json_of(GITHUB if head.get("server") else MODULES)
        return self._answer(head, json.loads(frame.body) if frame.body else None)


class Gathering(ToolHost):
    """Answers the calls of tools once so many of them are there, the last first."""

    def __init__(self, number: int) -> None:
        super().__init__(lambda head, arguments: json_of(arguments))
        self._number = number
        self._waiting: list[bridge.Frame] = []

    def take(self, stream: bridge.Stream, frame: bridge.Frame) -> None:
        """Keep a call until all are there."""
        if frame.head["want"] != "call":
            super().take(stream, frame)
            return
        self._waiting.append(frame)
        if len(self._waiting) == self._number:
            together, self._waiting = self._waiting, []
            for waiting in reversed(together):
                super().take(stream, waiting)


def play(source: str, host: ToolHost | None = None, **how: Any) -> Ended:
    """Run a program whose calls a host answers."""
    return run(textwrap.dedent(source), host=host or ToolHost(), **how)
