"""What the audit hook costs: the same work with and without it, each time in a fresh interpreter.

Run it with the interpreter that is to be measured: python bench_hook.py. It prints the best CPU time of several rounds, in
which the two take turns, and is no test: its figures are those of one machine.
"""

from __future__ import annotations

import os
import subprocess
import sys

_ROUNDS = 15
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_START = """
import sys, time
sys.path.insert(0, sys.argv[1])
from gearbox_guest import hook
if sys.argv[2] == "hook":
    hook.install(hook.make(), True, True)
began = time.process_time()
"""
_END = "\nprint(time.process_time() - began)"
_WORK = {
    "10^5 opens": "for _ in range(100_000):\n    open('/dev/null').close()",
    "imports": (
        "import asyncio, csv, ctypes, decimal, difflib, email.message, http.client, json, logging, multiprocessing.pool\n"
        "import pdb, pydoc, sqlite3, ssl, statistics, tarfile, tempfile, unittest.mock, urllib.request, xml.dom.minidom\n"
        "import xmlrpc.client, zipfile"
    ),
    "CPU": "x = 0\nfor i in range(3_000_000):\n    x += i % 7\nsorted(str(i) for i in range(200_000))",
}


def main() -> None:
    """Measure and print."""
    for name, work in _WORK.items():
        best = {"plain": float("inf"), "hook": float("inf")}
        for _ in range(_ROUNDS):
            for kind, so_far in best.items():
                best[kind] = min(so_far, _seconds(work, kind))
        added = best["hook"] / best["plain"] - 1
        print(
            f"{name}: {best['plain'] * 1000:.1f} ms, with the hook {best['hook'] * 1000:.1f} ms: {added:+.1%}"
        )


def _seconds(work: str, kind: str) -> float:
    argv = [sys.executable, "-I", "-S", "-c", _START + work + _END, _PACKAGE, kind]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()
