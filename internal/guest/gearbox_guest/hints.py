"""One sentence for a program that failed at the sandbox rather than at its own logic: what is so here, and what works.

A hint is for whoever reads the answer. It is made after the program has failed, from what the program left behind, and
decides nothing.
"""

from __future__ import annotations

import errno
import os
import re
from typing import NamedTuple

from . import hints_files, hints_modules, hook, own, values

__builtins__ = own.BUILTINS  # type: ignore[assignment]

MAX_LENGTH = 2000
_MAX_LINKED = 100

_NO_NETWORK = "the sandbox has no network, not even a loopback"
_INSTEAD = "Fetch the data outside and pass it in the argument files or variables"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
_READS_VARIABLE = os._Environ.__getitem__.__code__
_NOT_FOUND = 127  # what a shell exits with when it finds no program


class Surroundings(NamedTuple):
    """Where a program runs: isolated says that a sandbox holds it, the other two what it may start there."""

    workspace: str = ""
    isolated: bool = False
    forks: bool = True
    programs: bool = True


def hint(exc: BaseException, around: Surroundings, watch: hook.Watch | None) -> str:
    """Explain an exception that was not caught, or return an empty string. It never raises."""
    try:
        for current in _linked(exc):
            text = _explain(current, around, watch)
            if text:
                return _one_line(text)
    except BaseException:  # noqa: BLE001 - the exception is of the program's own making
        return ""
    return ""


def _one_line(text: str) -> str:
    """Names in it may be the program's own."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:MAX_LENGTH])


def _linked(exc: BaseException) -> list[BaseException]:
    """The exception and those that it came from. What was merely being handled counts only where one hides another."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [exc]
    while waiting and len(found) < _MAX_LINKED:
        current = waiting.pop(0)
        if current is None or any(current is other for other in found):
            continue
        found.append(current)
        waiting.append(current.__cause__)
        if isinstance(current, (OSError, ImportError)) and not current.__suppress_context__:
            waiting.append(current.__context__)
        members = getattr(current, "exceptions", None)
        if isinstance(members, tuple):
            waiting += [m for m in members if isinstance(m, BaseException)]
    return found


def _explain(exc: BaseException, around: Surroundings, watch: hook.Watch | None) -> str:
    if isinstance(exc, ImportError):
        return _of_import(exc, around)
    if isinstance(exc, EOFError):
        return _of_end(exc)
    if values.short_name(type(exc)) == "CalledProcessError":
        return _of_command(exc, around)
    if isinstance(exc, KeyError):
        return _of_variable(exc, around)
    if isinstance(exc, OSError):
        return _of_system(exc, around, watch)
    return ""


def _of_import(exc: ImportError, around: Surroundings) -> str:
    name = exc.name
    if isinstance(exc, ModuleNotFoundError) and isinstance(name, str) and name:
        return hints_modules.missing(name, _names_asked_for(exc, name), around.workspace)
    if "pip install" in str(exc) or "Use pip or conda" in str(exc):
        return hints_modules.install("what the message names", "the package that the message names")
    return ""


def _names_asked_for(exc: BaseException, name: str) -> tuple[str, ...]:
    """The full dotted names that the importing code holds: the error names only the first part that is missing."""
    tb = exc.__traceback__
    names: tuple[str, ...] = ()
    while tb is not None:
        if tb.tb_frame.f_code.co_filename[:8] != "<frozen ":
            names = tb.tb_frame.f_code.co_names
        tb = tb.tb_next
    dotted = [n for n in names if n.startswith(name + ".")]
    return (*dotted, *(f"{d}.{n}" for d in dotted for n in names))


def _of_end(exc: EOFError) -> str:
    """input() raises this; so do others, which have their own messages."""
    if str(exc) != "EOF when reading a line":
        return ""
    return (
        "the program's standard input is empty or used up: pass what input() is to read in the argument stdin"
    )


def _of_command(exc: BaseException, around: Surroundings) -> str:
    if getattr(exc, "returncode", 0) != _NOT_FOUND or not around.isolated:
        return ""
    return "the shell did not find the program: programs that the gear does not grant are absent from the sandbox"


def _of_variable(exc: KeyError, around: Surroundings) -> str:
    """os.environ[name]: whatever else raises KeyError is the program's own affair."""
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if not around.isolated or tb is None or tb.tb_frame.f_code is not _READS_VARIABLE:
        return ""
    name = exc.args[0]
    rule = f", or ask the operator for --allow 'env({name})'" if _VARIABLE.fullmatch(name) else ""
    return f"the sandbox does not hold the host's environment: pass the value in the argument variables{rule}"


def _of_system(exc: OSError, around: Surroundings, watch: hook.Watch | None) -> str:
    permission = watch.behind(exc) if watch else ""
    if permission.startswith("run("):
        return _of_program(permission, around)
    if around.isolated and _is_network(exc, permission):
        needs = f"; this needs {permission}, which this version cannot grant" if permission else ""
        return f"{_NO_NETWORK}{needs}. {_INSTEAD}"
    if around.isolated and exc.errno in (errno.EPERM, errno.ENOSYS):
        return "the sandbox refuses this system call, whatever the gear: do without it"
    return hints_files.refused(exc, around.workspace, around.isolated)


def _of_program(permission: str, around: Surroundings) -> str:
    if not around.forks:
        return f"the gear lets the program start no process; this needs {permission}"
    if not around.programs:
        return f"the gear grants no program; this needs {permission}"
    name = permission[len("run(") : -1]
    return f"the sandbox has no program {name}: the host lacks it, or the gear does not grant {permission}"


def _is_network(exc: OSError, permission: str) -> bool:
    """A name that is not resolved, a socket of a refused family, an address that is not reached."""
    if permission.startswith("net("):
        return True
    if values.short_name(type(exc)) in ("gaierror", "herror"):
        return True
    return exc.errno in (errno.EAFNOSUPPORT, errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL)
