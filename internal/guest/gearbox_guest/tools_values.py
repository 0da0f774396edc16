"""What goes into a call and what comes out: arguments to JSON, answers to Python."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from . import own
from .tools_errors import InvalidArguments

__builtins__ = own.BUILTINS  # type: ignore[assignment]

MAX_ARGUMENTS = 16 << 20  # of one call, in bytes of JSON, as the bridge has it

_MAX_HEAD = 60_000  # bytes of JSON: what a head may have, but for the names of its fields
_MAX_NAMES = 1000
_MAX_LIMIT = 1000
_MAX_TIMEOUT = 24 * 60 * 60

# Bound when the module is loaded: a program may replace the attributes of json.
_decode = own.decoder.JSONDecoder().decode


class Blob:
    """Bytes that a tool answered: a picture, a sound, a file."""

    __module__ = "tools"

    def __init__(self, data: bytes, mime: str = "", name: str = "") -> None:
        self.data = data
        self.mime = mime
        self.name = name

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the bytes to a file, and return its path."""
        with open(path, "wb") as file:
            file.write(self.data)
        return os.fspath(path)

    def text(self, encoding: str = "utf-8") -> str:
        """Decode the bytes."""
        return self.data.decode(encoding)

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"Blob({len(self.data)} bytes, mime={self.mime!r}, name={self.name!r})"


class ResourceLink:
    """Something that a server has and did not send. read() fetches it."""

    __module__ = "tools"

    def __init__(self, uri: str, name: str, mime: str, read: Callable[[str], Any]) -> None:
        self.uri = uri
        self.name = name
        self.mime = mime
        self._read = read

    def read(self) -> Any:
        """Fetch it from its server: text, or a Blob."""
        return self._read(self.uri)

    def __repr__(self) -> str:
        return f"ResourceLink({self.uri!r}, name={self.name!r}, mime={self.mime!r})"


def decode(head: Mapping[str, Any], body: bytes, read: Callable[[str], Any]) -> Any:
    """Turn an answer into a value, by its form."""
    form = head.get("form") or "none"
    if form == "json":
        return _decode(body.decode())
    if form == "text":
        return body.decode()
    if form != "parts":
        return None
    parts = _parts(head.get("parts") or [], body, read)
    return parts[0] if len(parts) == 1 else parts


def decode_error(error: Mapping[str, Any], body: bytes, read: Callable[[str], Any]) -> tuple[list[Any], Any]:
    """Content and structured value of an error."""
    form = error.get("form") or "none"
    if form == "json":
        return [], _decode(body.decode())
    if form == "text":
        return [body.decode()], None
    return (_parts(error.get("parts") or [], body, read) if form == "parts" else []), None


def _parts(parts: list[dict[str, Any]], body: bytes, read: Callable[[str], Any]) -> list[Any]:
    found: list[Any] = []
    offset = 0
    for part in parts:
        data = body[offset : offset + part["size"]]
        offset += part["size"]
        name, mime, uri = part.get("name") or "", part.get("mime") or "", part.get("uri") or ""
        if part["kind"] == "text":
            found.append(data.decode())
        elif part["kind"] == "link":
            found.append(ResourceLink(uri, name, mime, read))
        else:
            found.append(Blob(data, mime, name or uri))
    return found


def check(head: Mapping[str, Any]) -> None:
    """Refuse what no call frame may hold, of what a program has chosen: the host would end it for that."""
    for key, value in head.items():
        if key == "timeout":
            if type(value) not in (int, float) or not 0 <= value <= _MAX_TIMEOUT:
                raise _wrong(f"timeout is a number of seconds up to {_MAX_TIMEOUT}, and not {value!r:.100}")
        elif key == "limit":
            if type(value) is not int or not 0 <= value <= _MAX_LIMIT:
                raise _wrong(f"limit is a whole number up to {_MAX_LIMIT}, and not {value!r:.100}")
        elif key == "names":
            if len(value) > _MAX_NAMES or not all(isinstance(name, str) for name in value):
                raise _wrong(f"names are at most {_MAX_NAMES} texts such as github.create_issue")
        elif not isinstance(value, str):
            raise _wrong(f"{key} is text, and not {type(value).__name__}")
    if sum(len(_encode(value).encode("utf-8", "replace")) for value in head.values()) > _MAX_HEAD:
        raise _wrong(f"the names and the text of a question have at most {_MAX_HEAD:,} bytes together")


def encode(arguments: Mapping[str, Any]) -> bytes:
    """Encode arguments, by their raw names, as a JSON object. Raises InvalidArguments."""
    if not isinstance(arguments, Mapping):
        raise _wrong(f"the arguments are a dict of names and values, and not {type(arguments).__name__}")
    text = ",".join(f"{_encode(str(name))}:{_encoded(name, value)}" for name, value in arguments.items())
    try:
        body = f"{{{text}}}".encode()
    except UnicodeEncodeError as exc:
        raise _wrong(
            f"text holds the lone surrogate {exc.object[exc.start]!a}, which JSON cannot carry"
        ) from None
    if len(body) > MAX_ARGUMENTS:
        raise _wrong(
            f"the arguments have {len(body):,} bytes as JSON, and a call takes {MAX_ARGUMENTS:,}: pass less, or the path "
            "or address of something that the server can read by itself"
        )
    return body


def _encoded(name: str, value: Any) -> str:
    try:
        return _encode(value)
    except _NotJSON as exc:
        raise _wrong(f"argument {name}: {exc}") from None
    except TypeError as exc:  # a key that is no text
        raise _wrong(f"argument {name}: {exc}: use text for keys") from None
    except ValueError as exc:
        circular = "Circular" in str(exc)
        why = (
            "it contains itself" if circular else "JSON has no NaN and no infinity: pass None or leave it out"
        )
        raise _wrong(f"argument {name}: {why}") from None
    except RecursionError:
        raise _wrong(f"argument {name}: it is nested too deeply") from None


def _wrong(problem: str) -> InvalidArguments:
    return InvalidArguments(problem, problems=[problem])


class _NotJSON(Exception):
    """The text says what to pass instead."""


def _convert(value: Any) -> Any:
    """Convert what means one thing only; for all else say what to pass."""
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        if isinstance(path, str):
            return path
    if isinstance(value, uuid.UUID):
        return str(value)
    raise _NotJSON(f"{type(value).__name__} is no JSON value; pass {_instead(value)}")


def _instead(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "text: value.decode(), or base64.b64encode(value).decode() where the tool takes base64"
    if isinstance(value, Blob):
        return "its text(), or base64.b64encode(blob.data).decode() where the tool takes base64"
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return "value.isoformat()"
    if isinstance(value, datetime.timedelta):
        return "value.total_seconds()"
    if isinstance(value, (set, frozenset)):
        return "a list: sorted(value)"
    if isinstance(value, decimal.Decimal):
        return "float(value) or str(value)"
    if isinstance(value, enum.Enum):
        return "its value"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "dataclasses.asdict(value)"
    for method in ("tolist", "to_dict", "item", "model_dump", "_asdict"):
        if callable(getattr(value, method, None)):
            return f"value.{method}()"
    if hasattr(value, "__await__"):
        return "what it gives: write await before it"
    if hasattr(value, "__iter__"):
        return "a list: list(value)"
    return "text, numbers, True, False, None, lists and dicts of them"


_encode = own.encoder.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_convert
).encode
