"""The value of a program's last expression, made fit for JSON.

str, bool, int up to 2**53, finite float, list, and dict with string keys become JSON; anything else becomes its repr.
The objects are the program's own, so only the built-in types' own methods are called on them, and every walk is bounded.
"""

from __future__ import annotations

from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

from . import own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

MAX_INT = 2**53
MAX_DEPTH = 20
MAX_JSON = 256 << 10
MAX_REPR = 8 << 10

_ELLIPSIS = "…"
_PART = "print or return the part that you need"
_CUT = f"the value is too long for an answer: shown is the beginning of its repr; {_PART}"
_BIG = f"the value is too long to be shown as JSON: shown is its repr; {_PART}"
_REPLACED = "the value holds lone surrogates, which are no text: U+FFFD stands in their place"
# Bound when the module is loaded, as in the bridge: a program may replace json's attributes.
_encode = own.encoder.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Converted(NamedTuple):
    """What goes into the result: value is JSON-ready, or None when there is none; warning says what was lost."""

    value: Any
    type_name: str
    warning: str


class _NotJSON(Exception):
    """The value does not fit the JSON rules; its repr is used."""


class _TooLong(_NotJSON):
    """The value would fit, but for its length."""


def convert(value: object) -> Converted:
    """Convert the value of the last expression. Code of the program may run, in repr; its errors do not pass."""
    if value is None:
        return Converted(None, "", "")
    name = type_name(type(value))
    walk, big = _Walk(), ""
    try:
        return Converted(_bounded(walk.convert(value, 0)), name, _REPLACED if walk.replaced else "")
    except _TooLong:
        big = _BIG
    except (_NotJSON, RuntimeError, MemoryError):
        pass  # RuntimeError: another thread changed the dict meanwhile
    try:
        shown, lost = _fit(_brief_repr(value))
        return Converted(shown, name, lost or big)
    except BaseException as exc:  # noqa: BLE001 - the program's repr may raise anything, SystemExit too
        return Converted(None, name, f"the value has no repr: {type_name(type(exc))}")


def type_name(cls: type) -> str:
    """Name a class as a reader knows it: int, numpy.ndarray, Point."""
    name = _text(type.__dict__["__qualname__"].__get__(cls))
    try:
        module = type.__dict__["__module__"].__get__(cls)
    except AttributeError:  # a class may delete it
        return name
    if not isinstance(module, str) or module in ("builtins", "__main__"):
        return name
    return f"{_text(module)}.{name}"


def short_name(cls: type) -> str:
    """Name a class by its own name alone. A metaclass of the program is not asked."""
    return _text(type.__dict__["__name__"].__get__(cls))


def clean(text: str) -> str:
    """Replace lone surrogates, which strict JSON readers refuse, and join those that make a pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _fit(text: str) -> tuple[str, str]:
    """Make a repr fit to be shown, and say what of it is not."""
    cleaned = clean(text)
    data = cleaned.encode()
    if len(data) > MAX_REPR:
        kept = data[: MAX_REPR - len(_ELLIPSIS.encode())].decode("utf-8", "ignore")
        return kept + _ELLIPSIS, _CUT
    return cleaned, _REPLACED if _is_poorer(text, cleaned) else ""


def _is_poorer(text: str, cleaned: str) -> bool:
    return cleaned.count("\ufffd") > text.count("\ufffd")


class _Walk:
    """One conversion, with what is left of the size that the JSON may have."""

    def __init__(self) -> None:
        self._room = MAX_JSON
        self.replaced = False  # whether a string lost characters

    def convert(self, value: Any, depth: int) -> Any:
        cls = type(value)
        self._spend(1)
        if value is None or cls is bool:
            return value
        if issubclass(cls, str):
            return self._string(value)
        if issubclass(cls, int):
            return _integer(value)
        if issubclass(cls, float):
            return _number(value)
        if depth < MAX_DEPTH and issubclass(cls, list):
            return [self.convert(item, depth + 1) for item in list.__iter__(value)]
        if depth < MAX_DEPTH and issubclass(cls, dict):
            return {self._key(k): self.convert(v, depth + 1) for k, v in dict.items(value)}
        raise _NotJSON

    def _spend(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise _TooLong

    def _string(self, value: str) -> str:
        self._spend(str.__len__(value))
        original = str.__str__(value)
        text = clean(original)
        self.replaced = self.replaced or _is_poorer(original, text)
        self._spend(len(text.encode()) - str.__len__(value))
        return text

    def _key(self, key: object) -> str:
        if not issubclass(type(key), str):
            raise _NotJSON
        return self._string(key)  # type: ignore[arg-type]


def _bounded(value: Any) -> Any:
    """Numbers and escapes take more room in JSON than the walk counts."""
    if len(_encode(value).encode()) > MAX_JSON:
        raise _TooLong
    return value


def _integer(value: int) -> int:
    number = int.__int__(value)
    if not -MAX_INT <= number <= MAX_INT:
        raise _NotJSON
    return number


def _number(value: float) -> float:
    number = float.__float__(value)
    if not isfinite(number):
        raise _NotJSON
    return number


def _brief_repr(value: Any) -> str:
    """The repr, without making all of it for a built-in container that is far too long anyway."""
    cls = type(value)
    if cls in (str, bytes, bytearray, list, tuple) and len(value) > MAX_REPR:
        return _open_end(repr(value[:MAX_REPR]))
    if cls in (set, frozenset) and len(value) > MAX_REPR:
        return _open_end(repr(cls(islice(value, MAX_REPR))))
    if cls is dict and len(value) > MAX_REPR:
        return _open_end(repr(dict(islice(value.items(), MAX_REPR))))
    return _text(repr(value))


def _open_end(text: str) -> str:
    return text + _ELLIPSIS


def _text(value: str) -> str:
    """A plain str of what may be an instance of a subclass."""
    return str.__str__(value)
