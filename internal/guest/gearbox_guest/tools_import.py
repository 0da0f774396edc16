"""Lets a program import tools, and nothing of it be loaded before.

The package is no file: it is found before sys.path is looked at, so that nothing in the workspace or among installed
packages can stand in its place, and a program cannot write to it for another one.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import bridge, own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

if TYPE_CHECKING:
    from . import tools_package

_NAME = "tools"


def offer(stream: bridge.Stream) -> None:
    """Let this process import tools that are called over the stream."""
    sys.meta_path.insert(0, Finder(stream))


class Finder:
    """Finds tools and its modules, and is their loader."""

    def __init__(self, stream: bridge.Stream) -> None:
        self._stream = stream
        self._package: tools_package.Package | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module of that name. A server that does not exist raises ImportError, which says which do."""
        if name != _NAME and not name.startswith(_NAME + "."):
            return None
        package = self._tools()
        if name != _NAME and package.server(name[len(_NAME) + 1 :]) is None:
            raise ImportError(package.missing(name[len(_NAME) + 1 :]), name=name)
        return ModuleSpec(name, self, is_package=name == _NAME)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module, which is the same however often it is imported."""
        package = self._tools()
        return package if spec.name == _NAME else package.server(spec.name[len(_NAME) + 1 :])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is no source to run."""

    def _tools(self) -> tools_package.Package:
        if self._package is None:
            from . import calls, tools_package  # only for a program that wants them

            self._package = tools_package.Package(calls.Calls(self._stream))
        return self._package
