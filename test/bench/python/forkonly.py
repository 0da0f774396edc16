"""A fork server without isolation: what is left when everything that makes a sandbox is taken away.

Its memory is that of the real fork server, whose package is on the path named by the first argument: the same
modules are loaded and the same programs were run before. Each line of standard input is [number, program] as
JSON; a forked child runs the program, answers [number, what was printed] in one line, and ends.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import sys

sys.path.insert(0, sys.argv[1])

from gearbox_guest import forkserver, loop  # noqa: E402 the path comes first


def main() -> None:
    """Warm up as the fork server does, then fork for each line."""
    for name in forkserver._PRELOAD:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    loop.warm(forkserver._WARM_ROUNDS)
    gc.collect()
    gc.freeze()
    os.write(1, b"ready\n")
    for line in sys.stdin:
        if os.fork() == 0:
            answer(line)
            os._exit(0)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # so that their processor time is counted
                pass


def answer(line: str) -> None:
    """Run the program of a line."""
    number, program = json.loads(line)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "<cell>", "exec"), {"__name__": "__main__"})
    os.write(1, (json.dumps([number, out.getvalue()]) + "\n").encode())


main()
