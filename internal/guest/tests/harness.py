"""Runs programs in real guests over a socket pair, without a sandbox."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from gearbox_guest import bridge

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(bridge.__file__)))
_CACHE = tempfile.TemporaryDirectory()  # byte code of the guest, so that each child starts faster

_ENTRY = """
import json, resource, sys
sys.path.insert(0, sys.argv.pop(1))
from gearbox_guest import loop
def narrow(head):
    if head["no_exec"]:
        raise PermissionError(1, "cannot refuse programs")
    files = head["limits"].get("open_files")
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    memory = head["limits"].get("address_space")
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
loop.serve(int(sys.argv[1]), int(sys.argv[1]), narrow, sys.argv[2], ["/site-of-the-operator"])
"""


class Ended(NamedTuple):
    """What came of a program. result is None if its process ended without one; returncode is as in subprocess."""

    result: dict[str, Any] | None
    stdout: str
    stderr: str
    returncode: int | None


Host = Callable[[bridge.Stream, bridge.Frame], None]
"""Answers a frame that a program sends before its result."""


class Guest:
    """One parked guest."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.workspace = os.path.realpath(self._directory.name)
        self._socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-B",
                    "-c",
                    _ENTRY,
                    _PACKAGE,
                    str(theirs.fileno()),
                    self.workspace,
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        self.stream = bridge.Stream(self._socket.fileno(), self._socket.fileno())
        self.hello = self.read()

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self._socket.close()
        self._directory.cleanup()

    def close_writing(self) -> None:
        """Let the guest see the end of the stream, and still read what it says."""
        self._socket.shutdown(socket.SHUT_WR)

    def send(self, kind: int, head: dict[str, Any], body: bytes = b"") -> None:
        self.stream.write_frame(kind, 5, head, body)

    def read(self) -> bridge.Frame:
        frame = self.stream.read_frame()
        if frame is None:
            raise EOFError("the guest closed the bridge")
        return frame

    def ask(self, kind: int, head: dict[str, Any], body: bytes = b"") -> bridge.Frame:
        self.send(kind, head, body)
        return self.read()

    def analyse(self, source: str) -> dict[str, Any]:
        return self.ask(bridge.ANALYSE, {"language": "python"}, source.encode()).head

    def run(
        self,
        variables: dict[str, Any] | None = None,
        stdin: bytes = b"",
        isolated: bool = False,
        host: Host | None = None,
    ) -> Ended:
        """Run what was analysed, read the streams to their end and kill the guest once it has answered.

        isolated has the guest explain what happens as if a sandbox were around it.
        """
        self.send(bridge.RUN, {"variables": variables or {}, "isolated": isolated})
        output: list[tuple[bytes, bytes]] = []
        drain = threading.Thread(target=lambda: output.append(self.process.communicate(stdin)))
        drain.start()
        result = None
        try:
            frame = self.stream.read_frame()
            while host is not None and frame is not None and frame.kind != bridge.RESULT:
                host(self.stream, frame)
                frame = self.stream.read_frame()
            if frame is not None:
                result = frame.head
                self.process.kill()
        except bridge.ProtocolError:
            pass
        drain.join()
        stdout, stderr = output[0]
        return Ended(result, stdout.decode(), stderr.decode(), None if result else self.process.returncode)


def run(
    source: str,
    variables: dict[str, Any] | None = None,
    stdin: bytes = b"",
    arm: dict[str, Any] | None = None,
    isolated: bool = False,
    host: Host | None = None,
) -> Ended:
    """Run one program from analysis to its end."""
    with Guest() as guest:
        facts = guest.analyse(source)
        if facts.get("failure"):
            raise AssertionError(facts["failure"])
        if arm is not None:
            error = guest.ask(bridge.ARM, arm).head["error"]
            if error:
                raise AssertionError(error)
        return guest.run(variables, stdin, isolated, host)


def finish(source: str, **how: Any) -> tuple[dict[str, Any], str, str]:
    """Run one program that has to answer."""
    ended = run(source, **how)
    if ended.result is None:
        raise AssertionError(f"no result: {ended}")
    return ended.result, ended.stdout, ended.stderr
