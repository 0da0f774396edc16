"""Tells what an interpreter is and which places it needs, as one line of JSON.

Kept to the syntax of Python 3.4, the first that knows isolated mode, so that an
interpreter that is too old can still say its version.
"""

import json
import os
import platform
import sys
import sysconfig


def describe():
    # type: () -> dict[str, object]
    """Collects the facts; nothing here depends on the caller's environment."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    version = "{}.{}".format(*sys.version_info[:2])
    library = sysconfig.get_path("stdlib")
    exec_library = os.path.join(sys.base_exec_prefix, "lib", "python" + version)
    return {
        "implementation": sys.implementation.name,
        "version": platform.python_version(),
        "version_info": list(sys.version_info[:2]),
        "executable": sys.executable,
        "base_executable": os.path.realpath(base),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "library": [path for path in (library, exec_library) if os.path.isdir(path)],
        "library_dir": sysconfig.get_config_var("LIBDIR") or "",
        "path": [path for path in sys.path if os.path.isdir(path)],
    }


if __name__ == "__main__":
    print("\n" + json.dumps(describe()))
