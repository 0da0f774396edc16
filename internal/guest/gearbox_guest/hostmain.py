"""The entry of a child of the host backend: a keeper, and below it the interpreter that runs one program.

There is no isolation here. The operator's interpreter runs as it is installed, with the server's own rights.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from typing import Any, NoReturn

# Started as a file, so that the first entry of sys.path is this folder: its modules must not be found by their bare names.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from gearbox_guest import hostkeeper

_RESOURCES = {
    "address_space": "RLIMIT_AS",
    "cpu_seconds": "RLIMIT_CPU",
    "processes": "RLIMIT_NPROC",
    "open_files": "RLIMIT_NOFILE",
    "file_size": "RLIMIT_FSIZE",
}


def main() -> NoReturn:
    """Split into keeper and program."""
    args = _arguments()
    hostkeeper.become_subreaper()
    keeper = os.getpid()
    program = os.fork()
    if program == 0:
        _serve(args, keeper)
    for fd in {args.read_fd, args.write_fd}:
        os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    hostkeeper.keep(program, args.control_fd, args.report_fd)


def narrow(head: dict[str, Any]) -> None:
    """Put the arm frame's limits in force. What the host backend cannot do is refused, never left out."""
    if head["no_fork"] or head["no_exec"]:
        raise OSError("the host backend cannot refuse new processes or programs")
    for key, value in head["limits"].items():
        if value:
            _lower(key, value)


def _serve(args: argparse.Namespace, keeper: int) -> NoReturn:
    os.setsid()  # a signal to the program's own group must not reach the keeper
    os.close(args.control_fd)
    os.close(args.report_fd)
    hostkeeper.die_with_parent()
    if os.getppid() != keeper:
        os._exit(1)  # the keeper ended before the kernel was asked to tell

    from gearbox_guest import loop  # the keeper stays small without it

    if args.warm:
        loop.warm(1)
    loop.serve(args.read_fd, args.write_fd, narrow, args.workspace, args.site_path)


def _lower(key: str, value: int) -> None:
    number = getattr(resource, _RESOURCES[key])
    hard = resource.getrlimit(number)[1]
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (limit, limit))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--read-fd", type=int, required=True)
    parser.add_argument("--write-fd", type=int, required=True)
    parser.add_argument("--control-fd", type=int, required=True)
    parser.add_argument("--report-fd", type=int, required=True)
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--site-path", action="append", default=[])
    parser.add_argument("--warm", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
