"""The sealing of a child: from a fork of the fork server to a process that can be given hostile code.

The order matters. Everything that needs a capability comes first, the inner user
namespace comes last of the namespaces so that the others stay owned by the outer one
(capabilities over an inner namespace would reach nothing anyway), then the
capabilities go, and the system call filter comes at the very end because it refuses
what the steps before it do. A step that fails raises, and its caller ends the process:
a child is sealed completely or it does not exist. The host looks from outside whether
that is so and believes nothing said here.
"""

from __future__ import annotations

import base64
import errno
import os
import random
import resource
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from gearbox_guest import kernel

BRIDGE = 3
WORKSPACE = "/workspace"

# Landlock's rights by the version that brought them (landlock(7)).
_FS_BASE = (1 << 13) - 1
_FS_REFER = 1 << 13
_FS_TRUNCATE = 1 << 14
_FS_IOCTL_DEV = 1 << 15
_FS_LIST = 1 << 3
_FS_READ = 1 << 0 | 1 << 2 | _FS_LIST  # execute, read files, read directories
_FS_USE_DEVICE = 1 << 1 | 1 << 2  # write, read
_NET_ALL = 3  # bind and connect of TCP
_SCOPE_ALL = 3  # abstract sockets and signals stay within the child

_SCRATCH = ("/tmp", WORKSPACE, "/dev/shm")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")

# Instances of inotify count against the operator's own user: leave enough for one
# program and no way to use them up. Everything else is not needed inside at all.
_QUOTAS = {"max_inotify_instances": 8, "max_inotify_watches": 1024}


# The levels of isolation, as the host names them.
NO_PROC = "no-proc"
NO_USERNS = "no-userns"

# A descriptor of the host's /proc, where the sandbox may not have one of its own.
HOST_PROC = 4

# Signals are scoped from this version of Landlock on. Without a pid namespace nothing
# else keeps a program from ending the operator's processes.
_VERSION_FOR_NO_USERNS = 6


# The bridge moves to a number near this before the limit of the template is put in force: programs
# close and overwrite the small ones.
_FIRST_OPEN_FILES = 1024


class Plan:
    """What every child of one fork server is sealed to, decoded once."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.level = str(config["level"])
        self.readable: list[str] = list(config.get("readable") or [])
        self.cell_filter = kernel.Program(base64.b64decode(config["cell_filter"]))
        self.keeper_filter = kernel.Program(base64.b64decode(config["keeper_filter"]))
        self.no_fork_filter = kernel.Program(base64.b64decode(config["no_fork_filter"]))
        self.no_exec_filter = kernel.Program(base64.b64decode(config["no_exec_filter"]))
        self.scratch = int(config["scratch"])
        self.scratch_files = int(config["scratch_files"])
        self.memory = int(config["memory"])
        self.processes = int(config["processes"])
        self.open_files = int(config["open_files"])
        self.cpu_seconds = int(config["cpu_seconds"])
        self.quotas = _quotas() if self.level not in (NO_PROC, NO_USERNS) else []
        self.no_fork = config["seal_no_fork"] is True
        self.no_exec = config["seal_no_exec"] is True


def _quotas() -> list[tuple[str, str]]:
    """List what this kernel counts by user namespace, and how much of it a child may have."""
    names = [name for name in os.listdir("/proc/sys/user") if name.startswith("max_")]
    return [(name, str(_QUOTAS.get(name, 0))) for name in names]


class StepError(Exception):
    """A step of the sealing failed."""


Steps = list[tuple[str, Callable[[], None]]]


def seal(plan: Plan, descriptors: list[int], place: str) -> None:
    """Turn this process, a fresh fork, into a sealed child with the first descriptors as 0, 1, 2 and the bridge.

    The others are doors of its control group. place is the directory that was made for the child, where mounts cannot
    give it one.
    """
    streams, doors = descriptors[: BRIDGE + 1], descriptors[BRIDGE + 1 :]
    alone = _without_namespaces(plan, place) if plan.level == NO_USERNS else _in_namespaces(plan)
    steps: Steps = [
        ("control group", lambda: enter_group(doors)),
        ("session", leave_session),
        ("descriptors", lambda: take_descriptors(streams, keep=int(plan.level == NO_PROC))),
        *alone,
        ("limits", lambda: set_limits(plan)),
        ("seccomp", lambda: install_filters(plan)),
        ("randomness", reseed),
    ]
    for name, step in steps:
        try:
            step()
        except BaseException as error:
            raise StepError(f"{name}: {error}") from error


def _in_namespaces(plan: Plan) -> Steps:
    return [
        ("namespaces", enter_namespaces),
        ("mounts", lambda: mount_scratch(plan)),
        ("user namespace", lambda: enter_user_namespace(plan)),
        ("capabilities", kernel.drop_capabilities),
        ("no new privileges", kernel.no_new_privileges),
        ("landlock", lambda: restrict_files(["/"], _SCRATCH)),
    ]


def _without_namespaces(plan: Plan, place: str) -> Steps:
    return [
        ("scratch", lambda: settle_in(place)),
        ("oom score", lambda: die_first("/proc/self")),
        ("capabilities", kernel.hold_no_capabilities),
        ("no new privileges", kernel.no_new_privileges),
        ("landlock", lambda: restrict_alone(plan, place)),
    ]


def enter_group(doors: list[int]) -> None:
    """Go into the control group that the host has made, before there is anything that it should count."""
    for door in doors:
        os.write(door, b"0")


def leave_session() -> None:
    """Lead a session of its own.

    kill(0, …) reaches a whole process group across pid namespaces, and that of the fork
    server would be everybody's.
    """
    os.setsid()


def take_descriptors(descriptors: list[int], keep: int = 0) -> None:
    """Move descriptors to 0, 1, 2 and the bridge and close all else, but for as many behind these as keep says.

    The received ones lie above the targets, for the fork server holds those itself, so
    that no move overwrites one that is still to come.
    """
    if len(descriptors) != BRIDGE + 1 or min(descriptors) <= BRIDGE + keep:
        raise ValueError(f"unexpected descriptors {descriptors}")
    for target, source in enumerate(descriptors):
        os.dup2(source, target, inheritable=target != BRIDGE)
    kernel.close_from(BRIDGE + 1 + keep)


def enter_namespaces() -> None:
    kernel.unshare(
        kernel.CLONE_NEWNS
        | kernel.CLONE_NEWNET
        | kernel.CLONE_NEWIPC
        | kernel.CLONE_NEWUTS
        | kernel.CLONE_NEWCGROUP
    )


def mount_scratch(plan: Plan) -> None:
    """One private file system, hence one quota, behind the three writable places."""
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    options = f"size={plan.scratch},nr_inodes={plan.scratch_files},mode=0700"
    kernel.mount("scratch", "/tmp", "tmpfs", flags, options)
    os.umask(0)
    for name, mode in (("workspace", 0o755), ("shm", 0o1777), ("tmp", 0o1777)):
        os.mkdir(f"/tmp/{name}", mode)
    os.umask(0o022)
    kernel.mount("/tmp/workspace", WORKSPACE, None, kernel.MS_BIND)
    kernel.mount("/tmp/shm", "/dev/shm", None, kernel.MS_BIND)
    kernel.mount("/tmp/tmp", "/tmp", None, kernel.MS_BIND)


def enter_user_namespace(plan: Plan) -> None:
    """Become uid 1000 of a namespace that owns nothing, and refuse further namespaces in it.

    The quotas stand in the full proc of the fork server, which the child's own proc
    covers: it shows processes only, and of those only the ones that the child may trace,
    so that the reaper stays out of sight. Where the kernel refuses a proc, the host's is
    used through a descriptor that the program never sees; its quotas cannot be written.
    """
    os.chdir(WORKSPACE)
    if plan.level == NO_PROC:
        kernel.unshare(kernel.CLONE_NEWUSER)
        _map_user(HOST_PROC, "self")
        os.close(HOST_PROC)
        return
    quotas = os.open("/proc/sys/user", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    kernel.mount(
        "proc",
        "/proc",
        "proc",
        kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC,
        "subset=pid,hidepid=invisible",
    )
    kernel.unshare(kernel.CLONE_NEWUSER)
    _map_user(None, "/proc/self")
    for name, most in plan.quotas:
        _write(name, most, quotas)
    os.close(quotas)


def _map_user(directory: int | None, process: str) -> None:
    _write(f"{process}/setgroups", "deny", directory)
    _write(f"{process}/uid_map", "1000 0 1", directory)
    _write(f"{process}/gid_map", "1000 0 1", directory)
    die_first(process, directory)


def settle_in(place: str) -> None:
    """Use the child's own directory for what a mount shows elsewhere at the stronger levels."""
    os.chdir(workspace_in(place))
    os.environ["HOME"] = workspace_in(place)
    os.environ["TMPDIR"] = os.path.join(place, "tmp")
    tempfile.tempdir = None  # the fork server may have looked for one


def workspace_in(place: str) -> str:
    """Where the program of a child works: the same everywhere but in a directory of its own."""
    return os.path.join(place, "workspace") if place else WORKSPACE


def _write(path: str, text: str, directory: int | None = None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def die_first(process: str, directory: int | None = None) -> None:
    """When the machine runs out of memory a program dies before the server does."""
    _write(f"{process}/oom_score_adj", "1000", directory)


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Allow reading below some paths and everything below others.

    In a root of its own this is a second lock on what the mounts already say. Without
    one it is the lock.
    """
    version = kernel.landlock_version()
    handled = _FS_BASE
    handled |= _FS_REFER if version >= 2 else 0
    handled |= _FS_TRUNCATE if version >= 3 else 0
    handled |= _FS_IOCTL_DEV if version >= 5 else 0
    attributes = struct.pack("=Q", handled)
    if version >= 4:
        attributes += struct.pack("=Q", _NET_ALL)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPE_ALL)
    ruleset = kernel.landlock_ruleset(attributes)
    for path in readable:
        kernel.landlock_allow(ruleset, path, _FS_READ if os.path.isdir(path) else _FS_READ & ~_FS_LIST)
    for path in _DEVICES:
        kernel.landlock_allow(ruleset, path, _FS_USE_DEVICE | (handled & (_FS_TRUNCATE | _FS_IOCTL_DEV)))
    for path in writable:
        kernel.landlock_allow(ruleset, path, handled)
    kernel.landlock_enforce(ruleset)
    os.close(ruleset)


def restrict_alone(plan: Plan, place: str) -> None:
    """Restrict a child that has no root of its own, and see that it holds: nothing else does."""
    if kernel.landlock_version() < _VERSION_FOR_NO_USERNS:
        raise OSError(errno.ENOTSUP, "signals cannot be confined before version 6 of Landlock (Linux 6.12)")
    restrict_files(plan.readable, [place])
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except PermissionError:
        return
    raise OSError(errno.EACCES, "the root directory can be read in spite of the restriction")


def set_limits(plan: Plan) -> None:
    """The template's limits, and small ones for what the kernel counts by user, who is the operator."""
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 1024),
        (resource.RLIMIT_MEMLOCK, 64 << 10),
        (resource.RLIMIT_FSIZE, plan.scratch),
        (resource.RLIMIT_NOFILE, max(plan.open_files, _FIRST_OPEN_FILES)),
        (resource.RLIMIT_NPROC, plan.processes),
        (resource.RLIMIT_AS, plan.memory),
        (resource.RLIMIT_CPU, plan.cpu_seconds),
    ):
        lower_limit(what, most)


def install_filters(plan: Plan) -> None:
    """The filter of every cell, and those that no run of the template does without."""
    kernel.install_filter(plan.cell_filter)
    if plan.no_fork:
        kernel.install_filter(plan.no_fork_filter)
    if plan.no_exec:
        kernel.install_filter(plan.no_exec_filter)


def lower_limit(what: int, most: int) -> None:
    """Set a limit, but never above the one in force."""
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(what, (most, most))


def reseed() -> None:
    """Give the child randomness of its own.

    OpenSSL notices a fork by the process id, which is the same in every child; without
    this, two children send identical TLS keys. The global states of random and numpy
    are copies as well.
    """
    if "_ssl" in sys.modules:
        entropy = os.urandom(48)
        sys.modules["_ssl"].RAND_add(entropy, float(len(entropy)))
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(int.from_bytes(os.urandom(4), "little"))


def narrow(plan: Plan, restrictions: dict[str, Any]) -> None:
    """Put the limits and filters of one run in force upon those of the seal."""
    limits = restrictions.get("limits") or {}
    for key, what in (
        ("address_space", resource.RLIMIT_AS),
        ("cpu_seconds", resource.RLIMIT_CPU),
        ("processes", resource.RLIMIT_NPROC),
        ("open_files", resource.RLIMIT_NOFILE),
        ("file_size", resource.RLIMIT_FSIZE),
    ):
        if limits.get(key):
            lower_limit(what, int(limits[key]))
    if restrictions.get("no_fork"):
        kernel.install_filter(plan.no_fork_filter)
    if restrictions.get("no_exec"):
        kernel.install_filter(plan.no_exec_filter)
