"""The process that stands in for a pid namespace where the kernel gives none.

A keeper is the parent of one cell and adopts every orphan below it. When the cell ends,
when the host asks, or when the fork server ends, it kills the cell's process group, which
no program can leave because the filter refuses setsid and setpgid, waits until nothing of
it is left, and ends itself. It runs no code but this.
"""

from __future__ import annotations

import array
import json
import os
import signal
import socket
from collections.abc import Callable
from typing import Any, NoReturn

from gearbox_guest import kernel, seal

_WAKING = {signal.SIGCHLD, signal.SIGTERM}
_MESSAGE = 1 << 10
_SEALED = b"."


class Keeper:
    """The fork server's view of a keeper and its cell."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.cell = 0
        self.channel = channel

    def receive_cell(self) -> int:
        """Wait until the keeper is sealed and return the cell's process descriptor."""
        data, ancillary, _, _ = self.channel.recvmsg(_MESSAGE, socket.CMSG_SPACE(4))
        descriptors = array.array("i")
        for _, _, payload in ancillary:
            descriptors.frombytes(payload)
        if not data or len(descriptors) != 1:
            raise OSError("the keeper ended before it had a cell")
        self.cell = int(data)
        if self.channel.recv(_MESSAGE) != _SEALED:
            os.close(descriptors[0])
            raise OSError("the keeper is not sealed")
        return descriptors[0]

    def account(self) -> dict[str, Any]:
        """What the keeper, which has ended, said of its cell; if nothing, end what it left behind."""
        data = self.channel.recv(_MESSAGE)
        self.channel.close()
        if data:
            account: dict[str, Any] = json.loads(data)
            return account
        if self.cell:
            _end(self.cell)
        return {"status": int(signal.SIGKILL), "cpu": 0.0, "peak": 0}


def start(plan: seal.Plan, cell: Callable[[], NoReturn]) -> Keeper:
    """Fork a keeper, which forks the cell."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = os.getpid()
    try:
        pid = os.fork()
        if pid == 0:
            ours.close()
            _keep(plan, theirs, server, cell)
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return Keeper(pid, ours)


def _keep(plan: seal.Plan, channel: socket.socket, server: int, cell: Callable[[], NoReturn]) -> NoReturn:
    try:
        seal.leave_session()
        kernel.die_with_parent(server, signal.SIGTERM)
        kernel.adopt_orphans()
        before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            channel.close()
            kernel.die_with_parent(me, signal.SIGKILL)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            cell()
        _introduce(channel, pid)
        _seal(plan, channel.detach())
        _wait(pid)
        os.write(0, json.dumps(_end(pid)).encode())
        os._exit(0)
    finally:
        os._exit(1)


def _introduce(channel: socket.socket, pid: int) -> None:
    descriptor = kernel.pidfd_open(pid)
    rights = array.array("i", [descriptor])
    channel.sendmsg([str(pid).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


def _seal(plan: seal.Plan, channel: int) -> None:
    """Keep the channel as the only descriptor, 0, and the rights to wait, kill and report."""
    os.dup2(channel, 0)
    kernel.close_from(1)
    kernel.hold_no_capabilities()
    kernel.no_new_privileges()
    kernel.hide_from_debuggers()
    kernel.install_filter(plan.keeper_filter)
    os.write(0, _SEALED)


def _wait(cell: int) -> None:
    """Collect orphans until the cell ends or the end is asked for."""
    while signal.sigwait(_WAKING) != signal.SIGTERM:
        while True:
            # Without collecting: the number of the cell, which names its group, must stay taken.
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if dead is None:
                break
            if dead.si_pid == cell:
                return
            os.waitpid(dead.si_pid, 0)


def _end(cell: int) -> dict[str, Any]:
    """Kill the cell and its group and collect all of it.

    A fork that is under way when the group is killed fails (kernel/fork.c checks for
    signals under the lock under which they are sent), so that one round is enough. The
    cell may not have made its group yet.
    """
    os.kill(cell, signal.SIGKILL)
    try:
        os.killpg(cell, signal.SIGKILL)
    except ProcessLookupError:
        pass
    _, status, usage = os.wait4(cell, 0)
    while True:
        try:
            os.waitpid(-cell, 0)
        except ChildProcessError:
            break
    return {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024}
