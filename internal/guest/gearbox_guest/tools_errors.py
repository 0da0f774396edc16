"""The exceptions of calls of tools, as programs know them: from tools import ToolError.

Each says how to mend the call. Some are also what Python itself would raise: a wrong argument is a TypeError, a tool
that is not there an AttributeError.
"""

from __future__ import annotations

from typing import Any

from . import own

__builtins__ = own.BUILTINS  # type: ignore[assignment]


class ToolError(Exception):
    """A call of a tool failed. What the server answered stands in content and structured."""

    __module__ = "tools"

    def __init__(
        self,
        message: str = "",
        *,
        server: str = "",
        tool: str = "",
        content: list[Any] | None = None,
        structured: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.server = server
        self.tool = tool
        self.content: list[Any] = content or []
        self.structured = structured


class ToolNotFound(ToolError, AttributeError):
    """There is no such tool or server. The message names those that are nearest."""

    __module__ = "tools"


class InvalidArguments(ToolError, TypeError):
    """The tool does not take these arguments. problems says what is wrong, one sentence each; nothing was called."""

    __module__ = "tools"

    def __init__(self, message: str = "", *, problems: list[str] | None = None, **of: Any) -> None:
        super().__init__(message, **of)
        self.problems = problems or []


class ToolTimeout(ToolError):
    """The tool did not answer in time. It may have done its work all the same."""

    __module__ = "tools"


class ServerUnavailable(ToolError):
    """The server cannot be reached now."""

    __module__ = "tools"


class PolicyDenied(ToolError):
    """The gear does not let this program call the tool."""

    __module__ = "tools"


class ApprovalDenied(ToolError):
    """A human was asked, and did not say yes."""

    __module__ = "tools"


class CallLimitExceeded(ToolError):
    """The run has made as many calls, or has as many under way, as it may."""

    __module__ = "tools"


CLASSES: dict[str, type[ToolError]] = {
    cls.__name__: cls
    for cls in (
        ToolError,
        ToolNotFound,
        InvalidArguments,
        ToolTimeout,
        ServerUnavailable,
        PolicyDenied,
        ApprovalDenied,
        CallLimitExceeded,
    )
}


def of(error: dict[str, Any], content: list[Any], structured: Any, usage: str) -> ToolError:
    """Make the exception that an answer tells of. usage is the signature of the function that was called."""
    cls = CLASSES.get(str(error.get("class")), ToolError)
    message = str(error.get("message") or "the call failed")
    more: dict[str, Any] = {}
    if issubclass(cls, InvalidArguments):
        problems = more["problems"] = [str(p) for p in error.get("problems") or []]
        lines = [message, *(f"- {p}" for p in problems if p not in message)]
        message = "\n".join([*lines, f"usage: {usage}"] if usage and usage not in message else lines)
    return cls(
        message,
        server=str(error.get("server") or ""),
        tool=str(error.get("tool") or ""),
        content=content,
        structured=structured,
        **more,
    )
