"""Objects that are made after the holes are filled lie side by side."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from gearbox_guest import bridge

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(bridge.__file__)))

_MAKE_HOLES = """
import sys
sys.path.insert(0, sys.argv[1])
from gearbox_guest import holes

size = 112  # what few objects of the interpreter have, so that the holes below are nearly all
kept = [bytes(size - sys.getsizeof(b"")) for _ in range(2000)]
kept[::16] = [None] * len(kept[::16])
if sys.argv[2] == "fill":
    holes.fill()
made = [bytes(size - sys.getsizeof(b"")) for _ in range(32)]
places = sorted(id(o) for o in made)
print(sum(b - a == size for a, b in zip(places, places[1:])))
"""


def _neighbours(how: str) -> int:
    """Count the objects, of 32 new ones, that lie next to another."""
    command = [sys.executable, "-I", "-S", "-c", _MAKE_HOLES, _PACKAGE, how]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


class Holes(unittest.TestCase):
    def test_new_objects_lie_side_by_side_once_the_holes_are_filled(self) -> None:
        self.assertGreaterEqual(_neighbours("fill"), 30)

    def test_they_do_not_otherwise(self) -> None:
        self.assertLess(_neighbours("leave"), 16)


if __name__ == "__main__":
    unittest.main()
