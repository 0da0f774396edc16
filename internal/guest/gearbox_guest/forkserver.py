"""The fork server: a warm interpreter that forks children and knows nothing of requests.

It is process 1 of the outer pid namespace, where there is one, and speaks JSON datagrams with the host over
one descriptor. The first datagram configures it; after that

    host → server   {"id": n, "warm": bool, "place": directory} with [stdin, stdout, stderr, bridge, doors…]
    server → host   {"id": n, "event": "started"} with [pidfd of the reaper, pidfd of the cell]
    server → host   {"id": n, "event": "ended", "status": …, "cpu": seconds, "peak": bytes}
    server → host   {"id": n, "event": "failed", "error": …} instead of both

No code of a request, no value of a request and no secret ever enters this process: its
memory is copied into every child. It has one thread, so that a fork copies all of it.
When it ends, the kernel ends everything below it, and where there are no namespaces the
keepers do.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

if __name__ == "__main__":
    # Run as a file; go on as a module of the package, so that children have no trace of
    # the fork server in __main__.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from gearbox_guest import cell, holes, keeper, kernel, loop, nursery, preload, seal

CONTROL = 3
_DATAGRAM = 1 << 16
# Four streams, and the doors of one control group in each hierarchy there may be.
_MOST_DESCRIPTORS = 16
_EXIT_UNSEALED = 70

# Modules of the standard library that programs commonly import. Loading them once here
# costs memory that all children share and saves each child the time.
_PRELOAD = """
abc argparse array ast asyncio base64 bisect calendar cmath codecs collections
collections.abc configparser contextlib copy csv ctypes dataclasses datetime decimal
difflib email.message enum fnmatch fractions functools getpass glob gzip hashlib heapq
hmac html html.parser http.client importlib.metadata importlib.resources inspect io
ipaddress itertools json linecache locale logging lzma math mimetypes multiprocessing
multiprocessing.pool numbers operator os pathlib pickle platform pprint queue random re
secrets select selectors shlex shutil signal socket sqlite3 ssl stat statistics string
struct subprocess sys tempfile textwrap threading time timeit tokenize traceback types
typing unicodedata unittest.mock urllib.error urllib.parse urllib.request uuid warnings
weakref xml.etree.ElementTree zipfile zlib zoneinfo
""".split()
# Rounds of warming up, and how many are done at once: nobody is served meanwhile.
_WARM_ROUNDS = 20
_WARM_AT_ONCE = 2


class Child:
    """A reaper, or a keeper, and a cell, until both are dead."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.reaper: int | None = None  # its process descriptor
        self.cell = 0
        self.keeper: keeper.Keeper | None = None
        self.alive = 2
        self.account: dict[str, Any] = {}

    def destroy(self) -> None:
        """End what was made so far. The reaper ends only after the cell was waited for; nobody waits for it."""
        if self.keeper:
            os.kill(self.keeper.pid, signal.SIGTERM)
            os.waitpid(self.keeper.pid, 0)
            return
        if self.reaper is not None:
            kernel.pidfd_kill(self.reaper)
            os.close(self.reaper)
        if self.cell:
            os.kill(self.cell, signal.SIGKILL)
            os.waitpid(self.cell, 0)


class Server:
    """The loop of the fork server."""

    def __init__(self, control: socket.socket, config: dict[str, Any], chores: Iterator[None]) -> None:
        self._control = control
        self._chores: Iterator[None] | None = chores
        self._waiting: list[tuple[dict[str, Any], list[int]]] = []
        self._plan = seal.Plan(config)
        self._site_path: list[str] = list(config["site_path"])
        self._reapers = None if self._plan.level == seal.NO_USERNS else nursery.Nursery()
        if self._reapers is None:
            kernel.adopt_orphans()  # of a keeper that was killed
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._watched: dict[int, tuple[Child, int]] = {}

    def serve(self) -> None:
        """Answer requests until the host hangs up, and prepare for more while there are none."""
        while True:
            for descriptor, _ in self._poll.poll(None if self._chores is None else 0):
                if descriptor != self._control.fileno():
                    self._reap(descriptor)
                elif not self._request():
                    return
            self._prepare()

    def _prepare(self) -> None:
        """Do one chore. Children that are to be warm are worth the wait for the last one."""
        if self._chores is None:
            return
        for _ in self._chores:
            return
        self._chores = None
        for request, descriptors in self._waiting:
            self._answer(request, descriptors)
        self._waiting.clear()

    def _request(self) -> bool:
        data, ancillary, _, _ = self._control.recvmsg(_DATAGRAM, socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4))
        if not data:
            return False
        descriptors = array.array("i")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
        request = json.loads(data)
        if request["warm"] and self._chores is not None:
            self._waiting.append((request, list(descriptors)))
        else:
            self._answer(request, list(descriptors))
        return True

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> None:
        try:
            self._start(request, descriptors)
        except OSError as error:
            self._send({"id": request["id"], "event": "failed", "error": str(error)})
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _start(self, request: dict[str, Any], descriptors: list[int]) -> None:
        child = Child(request["id"])
        try:
            if self._reapers is None:
                self._fork_alone(child, request, descriptors)
            else:
                self._fork(child, self._reapers.take(), descriptors, bool(request["warm"]))
        except OSError:
            child.destroy()
            raise

    def _fork_alone(self, child: Child, request: dict[str, Any], descriptors: list[int]) -> None:
        """Fork a keeper with its cell. The keeper's end is that of the child."""
        place, warm = str(request["place"]), bool(request["warm"])
        child.keeper = keeper.start(
            self._plan, lambda: _run_cell(self._plan, descriptors, self._site_path, warm, place)
        )
        cell = child.keeper.receive_cell()
        try:
            self._watch_one(child, child.keeper.pid, [cell])
        finally:
            os.close(cell)

    def _watch_one(self, child: Child, pid: int, others: list[int]) -> None:
        descriptor = kernel.pidfd_open(pid)
        self._watched[descriptor] = (child, pid)
        self._poll.register(descriptor, select.POLLIN)
        self._send({"id": child.number, "event": "started"}, [descriptor, *others])

    def _fork(self, child: Child, reaper: nursery.Reaper, descriptors: list[int], warm: bool) -> None:
        """Fork the cell into the namespace of the reaper."""
        child.reaper = reaper.process
        try:
            kernel.setns(reaper.namespace, kernel.CLONE_NEWPID)
        finally:
            os.close(reaper.namespace)
        child.cell = os.fork()
        if child.cell == 0:
            _run_cell(self._plan, descriptors, self._site_path, warm)
        cell = kernel.pidfd_open(child.cell)
        for descriptor, pid in ((reaper.process, 0), (cell, child.cell)):
            self._watched[descriptor] = (child, pid)
            self._poll.register(descriptor, select.POLLIN)
        self._send({"id": child.number, "event": "started"}, [reaper.process, cell])

    def _reap(self, descriptor: int) -> None:
        child, pid = self._watched.pop(descriptor)
        self._poll.unregister(descriptor)
        if child.keeper:
            os.close(descriptor)
            os.waitpid(pid, 0)
            self._send({"id": child.number, "event": "ended", **child.keeper.account()})
            return
        child.alive -= 1
        if pid == child.cell:
            child.account = _collect(pid)
            if child.alive and child.reaper is not None:
                # The program is over: whatever it left behind goes with the namespace.
                kernel.pidfd_kill(child.reaper)
        os.close(descriptor)
        if not child.alive:
            self._send({"id": child.number, "event": "ended", **child.account})

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        ancillary = []
        if descriptors:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._control.sendmsg([json.dumps(message).encode()], ancillary)


def _collect(pid: int) -> dict[str, Any]:
    _, status, usage = os.wait4(pid, 0)
    return {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024}


def _run_cell(
    plan: seal.Plan, descriptors: list[int], site_path: list[str], warm: bool, place: str = ""
) -> NoReturn:
    """Seal and serve. Nothing may return into the loop of the fork server."""
    try:
        seal.seal(plan, descriptors, place)
        if warm:
            loop.warm(1)
            cell.leave_prepared_streams()
        loop.serve(
            seal.BRIDGE,
            seal.BRIDGE,
            lambda restrictions: seal.narrow(plan, restrictions),
            seal.workspace_in(place),
            site_path,
            open_files=plan.open_files,
            no_fork=plan.no_fork,
            no_exec=plan.no_exec,
        )
    except seal.StepError as error:
        os.write(2, f"gearbox seal: {error}\n".encode())
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(_EXIT_UNSEALED)


def _chores(control: socket.socket, config: dict[str, Any]) -> Iterator[None]:
    """Make ready what children find loaded, warm and out of the way of searches for garbage, bit by bit."""
    for name in _PRELOAD:
        # An operator's interpreter may lack a part; its programs then lack it too.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
        yield
    with preload.limited(config["memory"] if config["preload"] else 0):
        _preload_for_operator(control, config)
        for _ in range(0, _WARM_ROUNDS, _WARM_AT_ONCE):
            loop.warm(_WARM_AT_ONCE)
            yield
    cell.prepare_streams()
    # The first use of OpenSSL costs far more than the next: children begin anew with the second.
    seal.reseed()
    gc.collect()
    holes.fill()
    gc.freeze()


def _preload_for_operator(control: socket.socket, config: dict[str, Any]) -> None:
    try:
        preload.load(config["preload"], config["site_path"], config["level"])
    except preload.PreloadError as error:
        control.send(json.dumps({"event": "failed", "step": "preload", "error": str(error)}).encode())
        os._exit(1)  # a thread that the module left would keep it alive


def main() -> None:
    """Configure, tell the host, serve."""
    control = socket.socket(fileno=CONTROL)
    control.set_inheritable(False)
    config = json.loads(control.recv(_DATAGRAM))
    chores = _chores(control, config)
    if config["preload"]:
        for _ in chores:
            pass  # whether the operator's modules can be loaded decides whether there is a server
    server = Server(control, config, chores)
    version = ".".join(str(n) for n in sys.version_info[:3])
    control.send(json.dumps({"event": "ready", "python": version}).encode())
    try:
        server.serve()
    except nursery.EndedError as error:
        # Said while the control socket is open: the host ends who closes it.
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()


if __name__ == "__main__":
    module = importlib.import_module("gearbox_guest.forkserver")
    module.main()
