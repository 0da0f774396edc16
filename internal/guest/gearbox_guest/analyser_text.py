"""Facts that are not in the tree: characters that deceive, and metadata in comments."""

from __future__ import annotations

import io
import re
import tokenize
import unicodedata
from types import ModuleType

from .analyser_report import Report
from .analyser_shell import requirement, requirements

toml: ModuleType | None
try:
    import tomllib as toml
except ModuleNotFoundError:  # Python 3.10
    toml = None

_DECEIVING = re.compile(
    "[\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u2069\u0085\ufeff"
    "\U000e0000-\U000e007f]"
)
"""Characters that reorder, hide or break the line that a person reads: bidirectional
controls (CVE-2021-42574), invisible ones, line ends that Python does not know,
and tag characters, which spell hidden text. Joiners stay: emoji and Persian need them."""

_WORD = re.compile(r"[^\W\d]\w*")
_SCRIPT = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""The reference expression of PEP 723."""
_MAGIC = re.compile(r"(?m)^[ \t]*[!%][ \t]*((?:uv +)?(?:pip3?|conda) .*|python3? -m pip .*)$")


def scan(source: str, report: Report) -> None:
    """Report what the text of a program says beside its tree."""
    if not source.isascii():
        _deceiving(source, report)
        _lookalikes(source, report)
    if "# ///" in source:
        _metadata(source, report)


def magics(source: str, report: Report) -> None:
    """Report notebook lines such as ``!pip install``, which Python refuses as syntax."""
    for match in _MAGIC.finditer(source):
        line = source.count("\n", 0, match.start(1)) + 1
        for name in requirements(match.group(1).split()):
            report.add_at("install", name, match.group(1).split()[0], line, 1)


def _deceiving(source: str, report: Report) -> None:
    match = _DECEIVING.search(source)
    if match is not None:
        line = source.count("\n", 0, match.start()) + 1
        column = match.start() - (source.rfind("\n", 0, match.start()) + 1) + 1
        report.add_at("unsafe", "unicode", f"U+{ord(match.group()):04X}", line, column)


def _lookalikes(source: str, report: Report) -> None:
    """Identifiers that Python reads as other, plain ones (PEP 3131 normalises by NFKC)."""
    wanted = {word for word in _WORD.findall(source) if not word.isascii() and _plain(word)}
    if not wanted:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and token.string in wanted:
                line, column = token.start
                report.add_at("unsafe", "unicode", _plain(token.string), line, column + 1)
                return
    except (tokenize.TokenError, SyntaxError):
        return  # what does not parse was reported as such


def _plain(word: str) -> str:
    """The plain identifier that the word is read as, or nothing."""
    normal = unicodedata.normalize("NFKC", word)
    return normal if normal != word and normal.isascii() else ""


def _metadata(source: str, report: Report) -> None:
    """Inline script metadata (PEP 723) asks for packages."""
    blocks = [match for match in _SCRIPT.finditer(source) if match.group("type") == "script"]
    if not blocks:
        return
    line = source.count("\n", 0, blocks[0].start()) + 1
    if toml is None or len(blocks) > 1:
        report.add_at("unsafe", "unanalysable", "script metadata", line, 1)
        return
    lines = blocks[0].group("content").splitlines(keepends=True)
    text = "".join(part[2:] if part.startswith("# ") else part[1:] for part in lines)
    try:
        wanted = toml.loads(text).get("dependencies", [])
    except ValueError:
        report.add_at("unsafe", "unanalysable", "script metadata", line, 1)
        return
    for item in wanted if isinstance(wanted, list) else []:
        if isinstance(item, str) and (name := requirement(item)):
            report.add_at("install", name, "script metadata", line, 1)
