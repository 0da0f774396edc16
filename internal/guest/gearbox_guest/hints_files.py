"""What a program is told that did not get at a file: where it is, what is there, and how files come in."""

from __future__ import annotations

import errno
import os

from . import own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

_SHOWN = 20
_LOOKED_AT = 2000
_WRITABLE = ("/tmp", "/dev/shm")
_MAX_NAME = 120
_SHOWN_FILES = "of the host's files only those that a rule names"


def refused(exc: OSError, workspace: str, isolated: bool) -> str:
    """Explain an error that names a file, or say nothing."""
    path = _path(exc.filename)
    if path is None:
        return ""
    if exc.errno == errno.ENOENT:
        return _absent(path, workspace, isolated)
    if isolated and exc.errno == errno.EROFS:
        return _read_only(path, workspace)
    if isolated and exc.errno == errno.EACCES:
        return (
            f"the sandbox does not permit this on {path}: it shows {_SHOWN_FILES}, and only {workspace} and /tmp can be "
            f"written. {_home(workspace)}"
        )
    return ""


def _path(filename: object) -> str | None:
    if isinstance(filename, (str, bytes)):
        return _shown(os.fsdecode(filename))
    return None


def _absent(path: str, workspace: str, isolated: bool) -> str:
    full = os.path.normpath(os.path.join(workspace, path))
    parent = os.path.dirname(full)
    here = _inside(full, workspace)
    if (here or _inside(full, *_WRITABLE)) and not os.path.isdir(parent):
        return f"there is no directory {_shown(parent)}: make it with os.makedirs first. {_home(workspace)}"
    parts = [_near(full, workspace)]
    if isolated and not here and not _inside(full, *_WRITABLE):
        parts.append(
            f"The sandbox shows {_SHOWN_FILES}: pass the file in the argument files and open it by its name{_rule(full)}."
        )
    elif isolated:
        parts.append("A file comes in by the argument files.")
    parts.append(_home(workspace))
    text = " ".join(part for part in parts if part)
    return text[0].lower() + text[1:]


def _rule(path: str) -> str:
    """What an operator would add. A name with characters that rules give a meaning is left to them to write."""
    if not path.isprintable() or len(path) > _MAX_NAME or any(c in "*?{}[](),'\\" for c in path):
        return ""
    return f", or ask the operator for --allow 'read({path})'"


def _read_only(path: str, workspace: str) -> str:
    return f"{path} is read-only here: write below {workspace} or /tmp, which are private to this run. {_home(workspace)}"


def _home(workspace: str) -> str:
    """Say what the working directory is and holds."""
    names = _names(workspace)
    if not names:
        return f"The working directory is {workspace} and holds no files."
    shown = ", ".join(_shown(n) for n in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"The working directory is {workspace} and holds {shown}{more}."


def _near(full: str, workspace: str) -> str:
    """Name a file that could have been meant: nearly the same name beside it, or the same name in the workspace."""
    import difflib  # paid for only by a program that failed

    parent, name = os.path.split(full)
    beside = {n.rstrip("/").lower(): n.rstrip("/") for n in reversed(_names(parent))}
    for found in difflib.get_close_matches(name.lower(), beside, 1, 0.7):
        return f"Did you mean {_shown(os.path.join(parent, beside[found]))}?"
    if parent != workspace and name in _names(workspace):
        return f"Did you mean {_shown(name)}, in the working directory?"
    return ""


def _names(directory: str) -> list[str]:
    """The first names of a directory in their order, with a mark at directories."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                found.append(entry.name + "/" if entry.is_dir() else entry.name)
                if len(found) == _LOOKED_AT:
                    break
    except OSError:
        return []
    return sorted(found)


def _inside(path: str, *directories: str) -> bool:
    return any(path == d or path.startswith(os.path.join(d, "")) for d in directories)


def _shown(name: str) -> str:
    """A name on one line: programs choose the names of files."""
    if len(name) > _MAX_NAME:
        name = name[:_MAX_NAME] + "…"
    return name if name.isprintable() else repr(name)
