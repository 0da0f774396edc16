"""System calls that Python does not offer, through ctypes.

Every function raises OSError when the kernel refuses: nothing here is ignored, because
each call is a part of the wall around a program. The numbers from 424 on are the same
on x86-64 and arm64; the rest goes through the C library.
"""

from __future__ import annotations

import ctypes
import os
import struct

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

_CAPABILITY_VERSION_3 = 0x20080522

_SYS_PIDFD_OPEN = 434
_SYS_CLOSE_RANGE = 436
_SYS_LANDLOCK_CREATE_RULESET = 444
_SYS_LANDLOCK_ADD_RULE = 445
_SYS_LANDLOCK_RESTRICT_SELF = 446

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _syscall(number: int, what: str, *arguments: object) -> int:
    return _checked(int(_libc.syscall(ctypes.c_long(number), *arguments)), what)


def _prctl(option: int, what: str, *arguments: object) -> int:
    """The kernel refuses several options unless unused arguments are zero, at full width."""
    words = [a if not isinstance(a, int) else ctypes.c_ulong(a) for a in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    return _checked(int(_libc.prctl(ctypes.c_int(option), *words)), what)


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(descriptor: int, flags: int) -> None:
    _checked(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(flags)), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    _checked(
        _libc.mount(
            source.encode(),
            target.encode(),
            kind.encode() if kind is not None else None,
            ctypes.c_ulong(flags),
            data.encode(),
        ),
        f"mount {target}",
    )


def unmount(target: str) -> None:
    """Take a mount out of sight, whoever still uses it."""
    _checked(_libc.umount2(target.encode(), ctypes.c_int(_MNT_DETACH)), f"unmount {target}")


def pidfd_open(pid: int) -> int:
    """os.pidfd_open is missing from interpreters that were built for old systems."""
    return _syscall(_SYS_PIDFD_OPEN, "pidfd_open", ctypes.c_int(pid), ctypes.c_uint(0))


def close_from(first: int) -> None:
    """Close every descriptor from first on."""
    _syscall(
        _SYS_CLOSE_RANGE, "close_range", ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), ctypes.c_uint(0)
    )


def hide_from_debuggers() -> None:
    _prctl(_PR_SET_DUMPABLE, "set dumpable", 0)


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
    capability = 0
    # The last capability differs between kernels; reading one beyond it fails.
    while _libc.prctl(_PR_CAPBSET_READ, ctypes.c_ulong(capability)) >= 0:
        _prctl(_PR_CAPBSET_DROP, "drop from the bounding set", capability)
        capability += 1
    _prctl(_PR_SET_SECUREBITS, "set securebits", _SECUREBITS)
    hold_no_capabilities()


def hold_no_capabilities() -> None:
    """Empty the sets that a process may empty without a privilege, which the bounding set is not among."""
    _prctl(_PR_CAP_AMBIENT, "clear ambient capabilities", _PR_CAP_AMBIENT_CLEAR_ALL)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), 8)
    nothing = ctypes.create_string_buffer(24)
    _checked(_libc.capset(header, nothing), "capset")


def no_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, "set no_new_privs", 1)


def install_filter(program: bytes) -> None:
    """Put a seccomp program in force. Programs already in force stay so."""
    if not program or len(program) % 8:
        raise ValueError("not a filter program")
    code = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // 8, ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, "install seccomp filter", _SECCOMP_MODE_FILTER, ctypes.byref(header))


def landlock_version() -> int:
    """The version of Landlock's interface; raises when the kernel has none in force."""
    return _syscall(
        _SYS_LANDLOCK_CREATE_RULESET, "landlock version", None, ctypes.c_size_t(0), ctypes.c_uint(1)
    )


def landlock_ruleset(attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    size = ctypes.c_size_t(len(attributes))
    return _syscall(_SYS_LANDLOCK_CREATE_RULESET, "landlock ruleset", buffer, size, ctypes.c_uint(0))


def landlock_allow(ruleset: int, path: str, access: int) -> None:
    """Allow access, a set of Landlock's rights, at path and everything below it."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", access, place)  # struct landlock_path_beneath_attr is packed
        buffer = ctypes.create_string_buffer(rule, len(rule))
        kind, flags = ctypes.c_int(1), ctypes.c_uint(0)
        _syscall(
            _SYS_LANDLOCK_ADD_RULE, f"landlock rule for {path}", ctypes.c_int(ruleset), kind, buffer, flags
        )
    finally:
        os.close(place)


def landlock_enforce(ruleset: int) -> None:
    _syscall(_SYS_LANDLOCK_RESTRICT_SELF, "landlock enforce", ctypes.c_int(ruleset), ctypes.c_uint(0))
