"""Room for what children make.

Python's allocator hands out what is free in old pools before it opens a new one, and what the fork server leaves free
lies scattered over pages that it shares with its children: there, each small object that a child makes costs the child
a page. With the holes filled its objects lie side by side in pools of its own.
"""

from __future__ import annotations

import sys

# obmalloc.c: pools for objects of one size each, in steps of 16 bytes. Older pools are smaller.
_LARGEST = 512
_STEP = 16
_POOL = 1 << 14

_filling: list[object] = []


def fill() -> None:
    """Fill the holes of every size with one pool's worth of objects, and keep those for good: half a megabyte."""
    header = sys.getsizeof(b"")
    smallest = sys.getsizeof(0.0)
    _filling.append([n * 0.5 for n in range(_POOL // smallest)])
    for size in range(header // _STEP * _STEP + _STEP, _LARGEST + 1, _STEP):
        _filling.append([bytes(size - header) for _ in range(_POOL // size)])
