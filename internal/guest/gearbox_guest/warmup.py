"""Typical programs, run before the real one so that it finds warm caches and private pages.

What is run here must resemble what people run: a program that only prints leaves a real one slow.
"""

from __future__ import annotations

import ast
import collections  # noqa: F401 - these imports are the point: children find them loaded
import contextlib
import csv  # noqa: F401
import dataclasses  # noqa: F401
import datetime  # noqa: F401
import functools  # noqa: F401
import io
import itertools  # noqa: F401
import json
import linecache
import math  # noqa: F401
import os
import re  # noqa: F401
import statistics  # noqa: F401
import sys
import textwrap  # noqa: F401
import traceback  # noqa: F401
import typing  # noqa: F401
import warnings

from . import analyser, bridge, cell, hints, report

_MIXED = """
import collections, csv, dataclasses, datetime, io, itertools, json, math, re, statistics

@dataclasses.dataclass
class Row:
    name: str
    score: float = 0.0

    def label(self):
        return f"{self.name:<10}{self.score:8.2f}"

def rows(text):
    for line in csv.DictReader(io.StringIO(text)):
        yield Row(line["name"], float(line["score"]))

text = "name,score\\n" + "".join(f"n{i},{i * 1.5}\\n" for i in range(20))
found = sorted(rows(text), key=lambda r: -r.score)
for row in found[:5]:
    print(row.label())
counts = collections.Counter(re.findall(r"[a-z]+", text.lower()))
mean = statistics.mean(r.score for r in found)
print(json.dumps({"mean": mean, "top": counts.most_common(2)}), datetime.date(2026, 1, 2).isoformat())
squares = [i * i for i in range(200) if i % 3]
try:
    {}["missing"]
except KeyError as error:
    print("caught", error, sep=": ")
print(math.sqrt(sum(squares)), list(itertools.islice(itertools.count(), 3)))
{"mean": mean, "rows": len(found)}
"""
_FAILING = """
def first(n):
    return second(n)

def second(n):
    return 1 / n

print(first(2))
first(0)
"""
_SHORT = "print(1)\n40 + 2\n"
_PROGRAMS = (_SHORT, _MIXED, _FAILING)


def run(rounds: int) -> None:
    """Run every program that often, and leave no module, stream, source or variable of theirs behind."""
    kept = (sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.modules.get("__main__"), dict(linecache.cache))
    _load_readline()
    try:
        for _ in range(rounds):
            for source in _PROGRAMS:
                _run_once(source)
            _round_trip()
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv = kept[:4]
        if kept[4] is not None:
            sys.modules["__main__"] = kept[4]
        linecache.cache.clear()
        linecache.cache.update(kept[5])


def _load_readline() -> None:
    """Load the module that debuggers and consoles load, and keep to itself what it says at that.

    It looks for a description of the terminal, which a sandbox lacks as it lacks the terminal, and writes of it to
    descriptor 2, once.
    """
    said, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - children find it loaded
    finally:
        os.dup2(said, 2)
        os.close(said)
        os.close(nowhere)


def _run_once(source: str) -> None:
    sys.stdout = io.TextIOWrapper(
        io.BytesIO(), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    sys.stderr = sys.stdout
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree, _ = analyser.analyse(source)
        program = cell.Program(source, tree or ast.parse(source, report.FILENAME), [])
    json.dumps(cell.attempt(program, {}, hints.Surroundings("/")))


def _round_trip() -> None:
    """Send a frame through a pipe that nobody else holds."""
    read_fd, write_fd = os.pipe()
    with contextlib.closing(bridge.Stream(read_fd, write_fd)) as stream:
        stream.write_frame(bridge.RUN, 1, {"variables": {}}, b"x" * 64)
        stream.read_frame()
