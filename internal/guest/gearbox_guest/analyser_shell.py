"""Names the programs that a constant command would start.

Only as far as :mod:`shlex` can tell: the point is to name the program early,
not to understand the shell. What the shell decides while it runs is any program;
the sandbox holds all of them the same.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

UNKNOWN_PROGRAM = "*"
"""The target that policy reads as "any": the program is only known while the source runs."""

MAX_COMMAND = 4_096

_SEPARATORS = frozenset([";", "&", "&&", "|", "||", "|&", ";;", "(", ")", "{", "}", "!"])
_KEYWORDS = frozenset(
    ["if", "then", "elif", "else", "fi", "do", "done", "while", "until", "time", "case", "esac"]
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_REDIRECTION = re.compile(r"[<>]+&?$")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_INSTALLERS = (
    ("pip", "install"),
    ("pip3", "install"),
    ("uv", "pip", "install"),
    ("uv", "add"),
    ("conda", "install"),
    ("mamba", "install"),
    ("poetry", "add"),
    ("easy_install",),
)
_PIP_VALUES = frozenset(
    [
        "-r",
        "--requirement",
        "-c",
        "--constraint",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "-t",
        "--target",
        "-e",
        "--editable",
        "--prefix",
        "--root",
        "--platform",
        "--python-version",
        "-n",
        "--name",
        "-p",
        "--python",
    ]
)
"""Options of installers that are followed by a value of their own."""


def programs(command: str) -> list[list[str]]:
    """Split the command into simple commands: lists of words, the program first."""
    if len(command) > MAX_COMMAND:
        return [[UNKNOWN_PROGRAM]]
    found: list[list[str]] = []
    try:
        for line in command.replace("\\\n", " ").split("\n"):
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            found += _simple(list(lexer))
    except ValueError:  # an open quotation
        return [[UNKNOWN_PROGRAM]]
    if any("`" in word or "$(" in word for words in found for word in words):
        found.append([UNKNOWN_PROGRAM])
    return found


def _simple(words: list[str]) -> Iterator[list[str]]:
    current: list[str] = []
    skip = False
    for word in [*words, ";"]:
        if skip:
            skip = False
        elif word in _SEPARATORS:
            if current:
                yield current
            current = []
        elif _REDIRECTION.match(word):
            skip = True
        elif current or not (word in _KEYWORDS or _ASSIGNMENT.match(word)):
            current.append(word)


def program(word: str) -> str:
    """The program that a first word starts, with its directory if it names one: only
    the search path makes a bare name mean the system's own program."""
    plain = word and all(c.isalnum() or c in "._+-[/" for c in word) and not word.startswith("-")
    return word if plain else UNKNOWN_PROGRAM


def requirements(words: list[str]) -> list[str]:
    """The names of the packages that the command would install."""
    words = [words[0].rpartition("/")[2], *words[1:]] if words else []
    if words[1:2] == ["-m"] and words[0].startswith("python"):
        words = words[2:]
    for prefix in _INSTALLERS:
        if tuple(words[: len(prefix)]) == prefix:
            return [name for name in map(requirement, _packages(words[len(prefix) :])) if name]
    return []


def _packages(words: list[str]) -> Iterator[str]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _PIP_VALUES
        else:
            yield word


def requirement(text: str) -> str:
    """The package that a requirement names, in the spelling that indexes compare; an address stays as it is."""
    text = text.strip().strip("'\"")
    if "://" in text or text.startswith((".", "/")):
        return text
    match = _NAME.match(text)
    return re.sub(r"[-_.]+", "-", match.group()).lower() if match else ""
