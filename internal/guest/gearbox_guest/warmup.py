"""Typical programs, run before the real one so that it finds warm caches and private pages.

What is run here must resemble what people run: a program that only prints leaves a real one slow.
"""

from __future__ import annotations

import collections  # noqa: F401 - these imports are the point: children find them loaded
import contextlib
import csv  # noqa: F401
import dataclasses  # noqa: F401
import datetime  # noqa: F401
import functools  # noqa: F401
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
import signal
import statistics  # noqa: F401
import sys
import textwrap  # noqa: F401
import threading
import traceback  # noqa: F401
import typing  # noqa: F401
import weakref
from collections.abc import Iterator

from . import bridge, cell, loop, warmup_libraries

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
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")


def run(rounds: int) -> None:
    """Run every program that often, and leave no module, stream, source or variable of theirs behind.

    What was loaded and made before is frozen, so that the searches for garbage at the end of each program do not go
    through it. It stays frozen.
    """
    _load_readline()
    gc.collect()
    gc.freeze()
    with _as_it_was():
        for _ in range(rounds):
            for source in _programs(rounds):
                _converse(source)
            _exit_handlers()
    gc.collect()


def _programs(rounds: int) -> tuple[str, ...]:
    """Choose for the fork server, or for a child, which makes one round: what it does becomes memory of its own."""
    brief = warmup_libraries.brief() if rounds == 1 else []
    return (_SHORT, *brief) if brief else (*_PROGRAMS, *warmup_libraries.broad())


@contextlib.contextmanager
def _as_it_was() -> Iterator[None]:
    """Give programs streams that lead nowhere, and afterwards put back what they and the guest replace."""
    kept = {name: getattr(sys, name) for name in (*_STREAMS, "argv")}
    main, hook, cached = sys.modules.get("__main__"), threading.excepthook, dict(linecache.cache)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for name in _STREAMS:
            setattr(sys, name, cell.stream(nowhere, "w", "backslashreplace"))
        yield
    finally:
        for name, value in kept.items():
            setattr(sys, name, value)
        os.close(nowhere)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if main is not None:
            sys.modules["__main__"] = main
        threading.excepthook = hook
        linecache.cache.clear()
        linecache.cache.update(cached)


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
    with contextlib.closing(host), contextlib.closing(stream):
        for kind, head, body in (
            (bridge.ANALYSE, {"language": "python"}, source.encode()),
            (bridge.RUN, {"variables": {}, "isolated": True}, b""),
        ):
            host.write_frame(kind, 1, head, body)
            frame = stream.read_frame()
            if frame is not None:
                guest.answer(frame)
            host.read_frame()


def _exit_handlers() -> None:
    """Run the exit handlers that modules of the standard library leave, as if they had not run."""
    multiprocessing.util._exit_function()  # type: ignore[attr-defined]
    multiprocessing.util._exiting = False  # type: ignore[attr-defined]
    handler = logging.StreamHandler()
    logging.shutdown([weakref.ref(handler)])
