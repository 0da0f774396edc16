"""Bash: the cell hands its process over to the host's shell, which runs the source as a script.

The shell takes the place of the cell, so that exit status and signals are the shell's own. The bridge closes as it
starts; how it ends is told by the kernel alone.

The source is a script in the working directory, since scripts ask for themselves: dirname "$0" is where their files
are, and BASH_SOURCE is what $0 is. Yet no such file may be found there. So the script is a pipe with a name, which a
helper takes away when the shell has opened it and before it gives the first byte.
"""

from __future__ import annotations

import json
import os
import signal
from typing import Any, NoReturn

from . import report

LANGUAGE = "bash"
_PLACES = ("/usr/bin/bash", "/bin/bash")
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_MAX_STRING = 128 << 10  # MAX_ARG_STRLEN of Linux: name, value, the sign between and the NUL after


def become(source: str, variables: dict[str, Any], workspace: str, packages: list[str]) -> NoReturn:
    """Run source instead of this process. It returns only by an exception, with nothing of source having run.

    packages are the folders that a Python which source starts searches beside its own.
    """
    shell = next((p for p in _PLACES if os.access(p, os.X_OK)), None)
    if shell is None:
        raise FileNotFoundError(f"there is no bash at {' or '.join(_PLACES)}")
    environment = {**os.environb, b"SHELL": shell.encode()}
    if packages:
        environment[b"PYTHONPATH"] = os.fsencode(os.pathsep.join(packages))
    environment.update(_strings(variables))
    os.chdir(workspace)
    script = _make_pipe()
    _start_helper(script, source.encode())
    _forget_signals()
    os.execve(shell, [LANGUAGE, "--noprofile", "--norc", script], environment)


def _strings(variables: dict[str, Any]) -> dict[bytes, bytes]:
    """Make environment strings of JSON values: text as it is, everything else as compact JSON."""
    strings: dict[bytes, bytes] = {}
    for name, value in variables.items():
        text = value if isinstance(value, str) else _compact(value)
        if "\0" in text:
            raise ValueError(f"the variable {name} holds a NUL, which no environment can")
        encoded = text.encode("utf-8", "surrogatepass")
        if len(name) + len(encoded) + 2 > _MAX_STRING:
            raise ValueError(f"the variable {name} has {len(encoded)} bytes: pass so much in a file")
        strings[name.encode()] = encoded
    return strings


def _make_pipe() -> str:
    """Make the script's pipe under the name that error messages show, or one beside it if a file of the call has that."""
    name = report.FILENAME
    while os.path.lexists(name):
        name += "_"
    os.mkfifo(name, 0o600)
    return name


def _start_helper(script: str, source: bytes) -> None:
    """Fork the helper as a grandchild: the shell must not find a child that it did not make."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        if os.fork() == 0:
            _hand_over(script, source)
    finally:
        os._exit(0)


def _hand_over(script: str, source: bytes) -> None:
    os.closerange(0, 3)  # the streams are the shell's
    with open(script, "wb", buffering=0) as pipe:  # waits for the shell to open the other end
        os.unlink(script)
        view = memoryview(source)
        while view:
            view = view[pipe.write(view) :]


def _forget_signals() -> None:
    """Give the shell the signals of a fresh process: Python ignores some, and what is ignored stays so for a new program."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
