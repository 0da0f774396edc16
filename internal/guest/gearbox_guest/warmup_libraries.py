"""Typical programs of libraries that an operator has preloaded, for the warm-up.

A library takes far longer over its first table than over its second: it imports more of itself, fills caches and has
its code specialised. The fork server does much of that, which all children share. What a child does itself becomes
memory of its own, so that it does little.
"""

from __future__ import annotations

import sys

_NUMPY = """
import numpy as np

a = np.arange(12.0).reshape(3, 4)
b = np.linspace(0, 1, 4)
print(a @ b, a.mean(axis=0), a[a > 3].sum(), np.sqrt(a).round(2))
np.concatenate([a, a * 2]).T.tolist()
"""
_ARRAY = """
import numpy as np

np.arange(3.0) * 2
"""
_PANDAS = """
import pandas as pd

frame = pd.DataFrame({"name": ["a", "b", "a", "c"], "n": [1, 2, 3, 4], "x": [1.5, None, 2.5, 0.5]})
frame["y"] = frame["n"] * 2 + frame["x"].fillna(0)
print(frame)
print(frame.groupby("name")["y"].agg(["mean", "sum"]))
print(frame[frame["n"] > 1].sort_values("x").describe())
print(frame.merge(frame.groupby("name", as_index=False)["n"].sum(), on="name").to_dict("records"))
frame["n"].sum()
"""
_FRAME = """
import pandas as pd

pd.DataFrame({"name": ["a", "b"], "x": [1.5, None]})
"""
# What the fork server runs and what a child runs. A library comes after those that it is made of.
_PROGRAMS = {"numpy": (_NUMPY, _ARRAY), "pandas": (_PANDAS, _FRAME)}


def broad() -> list[str]:
    """Programs for the fork server, of the libraries that it has imported."""
    return [source for module, (source, _) in _PROGRAMS.items() if module in sys.modules]


def brief() -> list[str]:
    """The program for a child: that of the last library, which works with those before it. Empty without any."""
    return [source for module, (_, source) in _PROGRAMS.items() if module in sys.modules][-1:]
