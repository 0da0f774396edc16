"""System calls that Python does not offer, through ctypes.

Every function raises OSError when the kernel refuses: nothing here is ignored, because
each call is a part of the wall around a program. The numbers from 424 on are the same
on x86-64 and arm64; the rest goes through the C library.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import signal
import struct
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
_MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2

# NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of
# KEEP_CAPS (capabilities(7)): uid 0 and a change of uid give nothing, for good.
_SECUREBITS = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x40 | 0x80

# struct __user_cap_header_struct: _LINUX_CAPABILITY_VERSION_3, and the process itself.
_CAPABILITY_HEADER = struct.pack("=Ii", 0x20080522, 0)


class _Header(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


# The interpreter's lock stays held: a process of one thread has nobody to give it to.
_libc = ctypes.PyDLL(None, use_errno=True)


def _function(name: str, *types: Any) -> Any:
    """Find a function of the C library and say what it takes, so that a call makes no objects for its arguments."""
    function = _libc[name]
    function.argtypes, function.restype = types, ctypes.c_int
    return function


def _system_call(number: int, *types: Any) -> Any:
    return functools.partial(_function("syscall", ctypes.c_long, *types), number)


# The kernel refuses several options of prctl unless unused arguments are zero, at full width.
_c_prctl = _function("prctl", ctypes.c_int, *[ctypes.c_ulong] * 4)
_c_unshare = _function("unshare", ctypes.c_int)
_c_setns = _function("setns", ctypes.c_int, ctypes.c_int)
_c_mount = _function(
    "mount", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p
)
_c_capset = _function("capset", ctypes.c_char_p, ctypes.c_char_p)
_c_pidfd_send_signal = _system_call(424, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)
_c_pidfd_open = _system_call(434, ctypes.c_int, ctypes.c_uint)
_c_close_range = _system_call(436, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint)
_c_landlock_create_ruleset = _system_call(444, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint)
_c_landlock_add_rule = _system_call(445, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
_c_landlock_restrict_self = _system_call(446, ctypes.c_int, ctypes.c_uint)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _prctl(option: int, what: str, argument: int = 0, second: int = 0) -> int:
    return _checked(_c_prctl(option, argument, second, 0, 0), what)


def _count_capabilities() -> int:
    """How many capabilities this kernel knows; reading one beyond the last fails."""
    count = 0
    while _c_prctl(_PR_CAPBSET_READ, count, 0, 0, 0) >= 0:
        count += 1
    return count


_CAPABILITIES = _count_capabilities()


class Program:
    """A seccomp program, in the form in which the kernel takes it."""

    def __init__(self, code: bytes) -> None:
        if not code or len(code) % 8:
            raise ValueError("not a filter program")
        self._code = ctypes.create_string_buffer(code, len(code))
        self._header = _Header(len(code) // 8, ctypes.addressof(self._code))
        self.address = ctypes.addressof(self._header)


def unshare(flags: int) -> None:
    _checked(_c_unshare(flags), "unshare")


def setns(descriptor: int, flags: int) -> None:
    _checked(_c_setns(descriptor, flags), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    made = _c_mount(source.encode(), target.encode(), kind and kind.encode(), flags, data.encode())
    _checked(made, f"mount {target}")


def unmount(target: str) -> None:
    """Take a mount out of sight, whoever still uses it."""
    _checked(_libc.umount2(target.encode(), ctypes.c_int(_MNT_DETACH)), f"unmount {target}")


def pidfd_open(pid: int) -> int:
    """os.pidfd_open is missing from interpreters that were built for old systems."""
    return _checked(_c_pidfd_open(pid, 0), "pidfd_open")


def pidfd_kill(descriptor: int) -> None:
    """Kill a process. One that is dead already stays so."""
    if _c_pidfd_send_signal(descriptor, signal.SIGKILL, None, 0) < 0 and ctypes.get_errno() != errno.ESRCH:
        _checked(-1, "pidfd_send_signal")


def close_from(first: int) -> None:
    """Close every descriptor from first on."""
    _checked(_c_close_range(first, 0xFFFFFFFF, 0), "close_range")


def hide_from_debuggers() -> None:
    _prctl(_PR_SET_DUMPABLE, "set dumpable")


def die_with_parent(parent: int, number: int) -> None:
    """Have the kernel send signal number when parent ends; raises when it has ended already."""
    _prctl(_PR_SET_PDEATHSIG, "set parent death signal", number)
    if os.getppid() != parent:
        raise ProcessLookupError("the parent has ended")


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, "become subreaper", 1)


def drop_capabilities() -> None:
    """Leave no capability in any set and no way to gain one."""
    for capability in range(_CAPABILITIES):
        _prctl(_PR_CAPBSET_DROP, "drop from the bounding set", capability)
    _prctl(_PR_SET_SECUREBITS, "set securebits", _SECUREBITS)
    hold_no_capabilities()


def hold_no_capabilities() -> None:
    """Empty the sets that a process may empty without a privilege, which the bounding set is not among."""
    _prctl(_PR_CAP_AMBIENT, "clear ambient capabilities", _PR_CAP_AMBIENT_CLEAR_ALL)
    _checked(_c_capset(_CAPABILITY_HEADER, bytes(24)), "capset")


def no_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, "set no_new_privs", 1)


def install_filter(program: Program) -> None:
    """Put a seccomp program in force. Programs already in force stay so."""
    _prctl(_PR_SET_SECCOMP, "install seccomp filter", _SECCOMP_MODE_FILTER, program.address)


def landlock_version() -> int:
    """The version of Landlock's interface; raises when the kernel has none in force."""
    return _checked(_c_landlock_create_ruleset(None, 0, 1), "landlock version")


def landlock_ruleset(attributes: bytes) -> int:
    return _checked(_c_landlock_create_ruleset(attributes, len(attributes), 0), "landlock ruleset")


def landlock_allow(ruleset: int, path: str, access: int) -> None:
    """Allow access, a set of Landlock's rights, at path and everything below it."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", access, place)  # struct landlock_path_beneath_attr is packed
        _checked(_c_landlock_add_rule(ruleset, 1, rule, 0), f"landlock rule for {path}")
    finally:
        os.close(place)


def landlock_enforce(ruleset: int) -> None:
    _checked(_c_landlock_restrict_self(ruleset, 0), "landlock enforce")
