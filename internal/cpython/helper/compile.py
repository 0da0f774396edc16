"""Adds byte code to a copy of the standard library.

Run by the interpreter that the copy was made of, in isolated mode. The byte code
is of the unchecked kind: the tree is sealed and mounted read-only, so looking at
the sources again on each import would only cost time.
"""

import compileall
import contextlib
import os
import py_compile
import sys


def main(root: str, library: str) -> int:
    """Compiles everything below `library`, naming files as seen from `root`."""
    if hasattr(os, "nice"):
        os.nice(10)  # the first answers come before this; 19 would starve on a busy machine
    with contextlib.redirect_stdout(sys.stderr):
        done = compileall.compile_dir(
            library,
            maxlevels=32,
            quiet=1,
            stripdir=root,
            prependdir="/python",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
