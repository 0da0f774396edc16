"""The guest's own copies of what it still needs once a program has run.

A program may replace every builtin and every function of a library, and some do: builtins.len for a test, json.dumps or
traceback.print_exc for a tool. The guest shares the interpreter with it and must still report what happened. Each module
whose code runs during or after a program therefore looks its builtins up here, by a line of its own at its top:

    __builtins__ = own.BUILTINS

CPython takes the builtins of a function from that name when the function is made. Functions of libraries that are
written in Python are used from private copies of their modules; those written in C are bound to a name when a module of
the guest is loaded.

This is no wall: a program that looks for the guest finds it. Its mistakes must not become the guest's.
"""

from __future__ import annotations

import builtins
import importlib.util
import linecache as shared_linecache
import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["BUILTINS", "decoder", "encoder", "linecache", "path", "traceback"]

BUILTINS: dict[str, Any] = dict(vars(builtins))


def _copy(name: str) -> ModuleType:
    """Load a module once more, for the guest alone, with the guest's builtins. Its C parts stay shared."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module {name}", name=name)
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__builtins__"] = BUILTINS
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    import linecache
    import os.path as path
    import traceback
    from json import decoder, encoder
else:
    path = _copy(os.path.__name__)
    decoder = _copy("json.decoder")
    encoder = _copy("json.encoder")
    linecache = _copy("linecache")
    traceback = _copy("traceback")
    # A copy imports other modules by their public names. The sources known to both are the same: programs and libraries
    # add those of code that they generate.
    traceback.linecache = linecache
    linecache.cache = shared_linecache.cache
