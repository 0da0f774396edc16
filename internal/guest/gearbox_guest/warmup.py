"""Typical programs, run before the real one so that it finds warm caches and private pages.

What is run here must resemble what people run: a program that only prints leaves a real one slow.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module signal wraps it in Python, at the price of pages
import collections  # noqa: F401 - these imports are the point: children find them loaded
import contextlib
import csv  # noqa: F401
import dataclasses  # noqa: F401
import datetime  # noqa: F401
import functools
import gc
import io  # noqa: F401
import itertools  # noqa: F401
import json  # noqa: F401
import linecache
import logging
import math  # noqa: F401
import multiprocessing.util
import os
import re  # noqa: F401
import statistics  # noqa: F401
import sys
import textwrap  # noqa: F401
import threading
import traceback  # noqa: F401
import typing  # noqa: F401
import weakref

from . import bridge, cell, loop, tools_package, warmup_libraries  # noqa: F401 - tools: as above

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
# It fails at its end, as many do. Each line more costs each idle child memory.
_TYPICAL = """
import json, re

class Row:
    def __init__(self, name, score):
        self.name, self.score = name, float(score)

rows = [Row(*line.split(",")) for line in "a,1 b,2".split()]
for row in sorted(rows, key=lambda r: -r.score)[:3]:
    print(f"{row.name:<10}{row.score:8.2f}")
counts = {}
for word in re.findall(r"[a-z]+", "a b a"):
    counts[word] = counts.get(word, 0) + 1
try:
    counts["missing"]
except KeyError as error:
    print(json.dumps(counts), error, sep=": ")
rows[9].name
"""
_SHORT = "print(1)\n"
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")


def run(rounds: int) -> None:
    """Run every program that often, and leave no module, stream, source or variable of theirs behind.

    What was loaded and made before is frozen, so that the searches for garbage at the end of each program do not go
    through it. It stays frozen.
    """
    _load_readline()
    gc.collect()
    gc.freeze()
    kept = {name: getattr(sys, name) for name in (*_STREAMS, "argv")}
    main, hook, cached = sys.modules.get("__main__"), threading.excepthook, dict(linecache.cache)
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        stream = cell.stream(nowhere, "w", "backslashreplace")
        for name in _STREAMS:
            setattr(sys, name, stream)
        _rehearse(rounds)
    finally:
        for name, value in kept.items():
            setattr(sys, name, value)
        os.close(nowhere)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        if main is not None:
            sys.modules["__main__"] = main
        threading.excepthook = hook
        linecache.cache.clear()
        linecache.cache.update(cached)
    gc.collect()


def _rehearse(rounds: int) -> None:
    for _ in range(rounds):
        for source in _programs(rounds):
            _converse(source)
        _exit_handlers()


def _programs(rounds: int) -> tuple[str, ...]:
    """Choose for the fork server, or for a child, which makes one round: what it does becomes memory of its own."""
    if rounds > 1:
        return (_SHORT, _MIXED, _TYPICAL, *warmup_libraries.broad())
    return (*(warmup_libraries.brief() or [_TYPICAL]), _SHORT)


@functools.cache
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


def _converse(source: str) -> None:
    """Speak with a guest about one program, as the host does."""
    questions, answers = os.pipe(), os.pipe()
    host = bridge.Stream(answers[0], questions[1])
    stream = bridge.Stream(questions[0], answers[1])
    guest = loop.Guest(stream, lambda _: None, "/", [], False, False, cell.rehearse)
    try:
        for kind, head, body in (
            (bridge.ANALYSE, {"language": "python"}, source.encode()),
            (bridge.RUN, {"variables": {}, "isolated": True}, b""),
        ):
            host.write_frame(kind, 1, head, body)
            frame = stream.read_frame()
            if frame is not None:
                guest.answer(frame)
            host.read_frame()
    finally:
        host.close()
        stream.close()


def _exit_handlers() -> None:
    """Run the exit handlers that modules of the standard library leave, as if they had not run."""
    multiprocessing.util._exit_function()  # type: ignore[attr-defined]
    multiprocessing.util._exiting = False  # type: ignore[attr-defined]
    if logging.lastResort is not None:
        logging.shutdown([weakref.ref(logging.lastResort)])
        logging.lastResort._closed = False  # type: ignore[attr-defined]
