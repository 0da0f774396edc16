"""What a run costs inside the child: time and page faults from one frame to the next, in children as the fork server makes
them but for the sealing.

Run it with the interpreter that is to be measured: python bench_run.py [rounds [folder …]]. A folder holds another
gearbox_guest, to be compared with. Each round forks one child of each kind for each program, so that all take turns. It
prints medians and is no test: its figures are those of one machine.
CPU and page faults are read from /proc while the child waits for its next frame; nothing is counted in the child itself.
"""

from __future__ import annotations

import array
import itertools
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from gearbox_guest import bridge

_ROUNDS = 40
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(bridge.__file__)))

# A fork server without a sandbox: a byte with four descriptors forks a child, whose number is the answer.
_SERVER = """
import array, os, signal, socket, sys
sys.path.insert(0, sys.argv[1])
from gearbox_guest import forkserver, loop, seal
for _ in forkserver._chores(None, {"preload": [], "site_path": [], "level": "", "memory": 0}):
    pass
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
control = socket.socket(fileno=int(sys.argv[2]))
control.send(b"ready")
while True:
    warm, descriptors, _, _ = socket.recv_fds(control, 1, 4)
    if not warm:
        os._exit(0)
    pid = os.fork()
    if pid == 0:
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target, inheritable=target != seal.BRIDGE)
        os.closerange(seal.BRIDGE + 1, 64)
        if warm == b"w":
            loop.warm(1)
        loop.serve(seal.BRIDGE, seal.BRIDGE, lambda restrictions: None, sys.argv[3], [])
    for descriptor in descriptors:
        os.close(descriptor)
    control.send(str(pid).encode())
"""

_SCRIPT = '''import csv, io, json, re

class Order:
    """One line of the file."""

    def __init__(self, row):
        self.customer = row["customer"].strip()
        self.total = int(row["pieces"]) * float(row["price"])

data = "customer,pieces,price\\n" + "\\n".join(f"c{i % 7}, {i},{i * 0.25}" for i in range(1, 40))
orders = [Order(row) for row in csv.DictReader(io.StringIO(data), skipinitialspace=True)]
totals = {}
for order in orders:
    totals[order.customer] = totals.get(order.customer, 0) + order.total
best = sorted(totals.items(), key=lambda item: -item[1])[:3]
for customer, total in best:
    print(f"{customer:>5} {total:10.2f}")
print(json.dumps(dict(best)), re.findall(r"c(\\d)", data)[:5])
round(sum(totals.values()), 2)
'''
_FAILING = """def parse(line):
    name, value = line.split("=")
    return name, int(value)

for line in ("a=1", "b=two"):
    print(parse(line))
"""
_IMPORTS = (
    "import csv, datetime, decimal, json, pathlib, re, sqlite3, statistics, subprocess, urllib.request\n"
)
_LONG = "".join(_SCRIPT.replace("Order", f"Order{n}").replace("orders", f"orders{n}") for n in range(20))
_PROGRAMS = {
    "print(1)": "print(1)",
    "20 lines": _SCRIPT,
    "failing": _FAILING,
    "imports": _IMPORTS,
    f"{_LONG.count(chr(10))} lines": _LONG,
}
_KINDS = {"warm": b"w", "not warm": b"c"}


class Cost(NamedTuple):
    """What one frame took until its answer: microseconds of wall and processor time, and minor page faults."""

    wall: float
    cpu: float
    faults: int


class Server:
    """The process that children are forked from."""

    def __init__(self, package: str, workspace: str) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _SERVER, package]
        with theirs:
            subprocess.Popen([*argv, str(theirs.fileno()), workspace], pass_fds=[theirs.fileno()])
        if self._control.recv(16) != b"ready":
            raise EOFError("the fork server did not start")

    def fork(self, warm: bytes, descriptors: list[int]) -> int:
        """Fork a child with these as standard streams and bridge, and return its number."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._control.sendmsg([warm], rights)
        return int(self._control.recv(16))

    def close(self) -> None:
        """End it."""
        self._control.close()


class Child:
    """A parked child. Its output is thrown away."""

    def __init__(self, server: Server, warm: bytes) -> None:
        self._bridge, theirs = socket.socketpair()
        nothing = os.open(os.devnull, os.O_RDWR)
        with theirs:
            self.pid = server.fork(warm, [nothing, nothing, nothing, theirs.fileno()])
        os.close(nothing)
        self._stream = bridge.Stream(self._bridge.fileno(), self._bridge.fileno())
        self._stream.read_frame()

    def ask(self, kind: int, head: dict[str, object], body: bytes = b"") -> Cost:
        """Send a frame and measure until its answer is here and the child waits again."""
        cpu, faults = self._used()
        began = time.perf_counter_ns()
        self._stream.write_frame(kind, 1, head, body)
        self._stream.read_frame()
        wall = time.perf_counter_ns() - began
        cpu_after, faults_after = self._used()
        return Cost(wall / 1000, (cpu_after - cpu) / 1000, faults_after - faults)

    def private(self) -> int:
        """Kilobytes of memory that this child alone has."""
        with open(f"/proc/{self.pid}/smaps_rollup") as rollup:
            return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_Dirty"))

    def close(self) -> None:
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)
        self._bridge.close()

    def _used(self) -> tuple[int, int]:
        """Nanoseconds of processor time and minor faults so far, once the child sleeps."""
        while True:
            with open(f"/proc/{self.pid}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
            if fields[0] == "S":
                break
        with open(f"/proc/{self.pid}/schedstat") as schedstat:
            return int(schedstat.read().split()[0]), int(fields[7])


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else _ROUNDS
    costs: dict[tuple[str, str, str, str], list[Cost]] = {}
    private: dict[tuple[str, str], list[int]] = {}
    with tempfile.TemporaryDirectory() as workspace:
        servers = {p: Server(p, workspace) for p in (_PACKAGE, *sys.argv[2:])}
        for _ in range(rounds):
            for program, kind, package in itertools.product(_PROGRAMS, _KINDS, servers):
                child = Child(servers[package], _KINDS[kind])
                private.setdefault((kind, package), []).append(child.private())
                analyse = child.ask(bridge.ANALYSE, {"language": "python"}, _PROGRAMS[program].encode())
                run = child.ask(bridge.RUN, {"variables": {}, "isolated": True})
                child.close()
                for frame, cost in (("analyse", analyse), ("run", run)):
                    costs.setdefault((program, kind, frame, package), []).append(cost)
        for server in servers.values():
            server.close()
    print(f"{'program':10} {'child':9} {'frame':8} {'wall µs':>8} {'CPU µs':>8} {'faults':>7}")
    for (program, kind, frame, package), all_of in costs.items():
        wall, cpu, faults = (statistics.median(column) for column in zip(*all_of, strict=True))
        print(f"{program:10} {kind:9} {frame:8} {wall:8.0f} {cpu:8.0f} {faults:7.0f} {_name(package)}")
    for (kind, package), sizes in private.items():
        print(
            f"private memory of an idle child, {kind}: {statistics.median(sizes) / 1024:.1f} MB {_name(package)}"
        )


def _name(package: str) -> str:
    return "" if package == _PACKAGE else package


if __name__ == "__main__":
    main()
