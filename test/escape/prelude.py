import ctypes, errno, os, sys

libc = ctypes.CDLL(None, use_errno=True)


def report(verdict, name, detail=""):
    print(f"{verdict}\t{name}\t{detail}", flush=True)


def refused(name, attempt, *codes):
    """The attempt has to fail, with one of the error numbers if any are named."""
    try:
        result = attempt()
    except OSError as exc:
        bad = codes and exc.errno not in codes
        report("BREACH" if bad else "HELD", name, errno.errorcode.get(exc.errno, str(exc)))
    except (ValueError, ImportError, AttributeError) as exc:
        report("HELD", name, repr(exc)[:80])
    else:
        report("BREACH", name, repr(result)[:80])


def syscall(name, number, *args, codes=()):
    """The system call has to fail, with one of the error numbers if any are named."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *args)
    code = errno.errorcode.get(ctypes.get_errno(), "")
    ok = result == -1 and (not codes or ctypes.get_errno() in codes)
    report("HELD" if ok else "BREACH", name, code or result)


def check(name, ok, detail=""):
    """The statement has to hold."""
    report("HELD" if ok else "BREACH", name, str(detail)[:200])


def shown(path):
    """Say whether a file can be read."""
    try:
        open(path, "rb").close()
        return True
    except OSError:
        return False


def privileges():
    """Ask the kernel what this process may, without /proc: prctl(2), capget(2)."""
    data = ctypes.create_string_buffer(24)
    libc.capget(ctypes.create_string_buffer(b"\x22\x05\x08\x20" + bytes(4), 8), data)
    return dict(
        held=data.raw != bytes(24),
        bounding=any(libc.prctl(23, c, 0, 0, 0) == 1 for c in range(64)),
        ambient=any(libc.prctl(47, 1, c, 0, 0) == 1 for c in range(64)),
        fixed=libc.prctl(39, 0, 0, 0, 0) == 1,
        filtered=libc.prctl(21, 0, 0, 0, 0) == 2,
    )


# The test says before this text which level it expects: LEVEL. Its own places and its
# own /proc a program finds by itself.
WORK, TEMP = os.getcwd(), os.environ["TMPDIR"]
PROC = shown("/proc/self/status")
EPERM, ENOSYS, EACCES, EROFS = errno.EPERM, errno.ENOSYS, errno.EACCES, errno.EROFS
MACHINE = os.uname().machine
NR = {
    "x86_64": dict(
        ptrace=101, setns=308, unshare=272, clone=56, clone3=435, mount=165, umount2=166, pivot_root=155, chroot=161,
        open_by_handle_at=304, name_to_handle_at=303, move_mount=429, fsopen=430, open_tree=428, fsmount=432,
        mount_setattr=442, process_vm_readv=310, process_vm_writev=311, pidfd_getfd=438, kcmp=312,
        perf_event_open=298, io_uring_setup=425, io_uring_enter=426, io_uring_register=427, userfaultfd=323, bpf=321,
        add_key=248, request_key=249, keyctl=250, kexec_load=246, kexec_file_load=320, init_module=175,
        finit_module=313, delete_module=176, personality=135, modify_ldt=154, fanotify_init=300, memfd_create=319,
        memfd_secret=447, shmget=29, execveat=322, sched_setscheduler=144, setpriority=141, ioprio_set=251,
        mlockall=151, prlimit64=302, mknodat=259, acct=163, swapon=167, reboot=169, sethostname=170,
        settimeofday=164, clock_settime=227, adjtimex=159, iopl=172, ioperm=173, quotactl=179, syslog=103,
        seccomp=317, prctl=157, capset=126, setuid=105, setgid=106, setgroups=116, setresuid=117, vmsplice=278,
        lookup_dcookie=212, process_madvise=440, landlock_restrict_self=446,
    ),
    "aarch64": dict(
        ptrace=117, setns=268, unshare=97, clone=220, clone3=435, mount=40, umount2=39, pivot_root=41, chroot=51,
        open_by_handle_at=265, name_to_handle_at=264, move_mount=429, fsopen=430, open_tree=428, fsmount=432,
        mount_setattr=442, process_vm_readv=270, process_vm_writev=271, pidfd_getfd=438, kcmp=272,
        perf_event_open=241, io_uring_setup=425, io_uring_enter=426, io_uring_register=427, userfaultfd=282, bpf=280,
        add_key=217, request_key=218, keyctl=219, kexec_load=104, kexec_file_load=294, init_module=105,
        finit_module=273, delete_module=106, personality=92, fanotify_init=262, memfd_create=279, memfd_secret=447,
        shmget=194, execveat=281, sched_setscheduler=119, setpriority=140, ioprio_set=30, mlockall=230,
        prlimit64=261, mknodat=33, acct=89, swapon=224, reboot=142, sethostname=161, settimeofday=170,
        clock_settime=112, adjtimex=171, quotactl=60, syslog=116, seccomp=277, prctl=167, capset=91, setuid=146,
        setgid=144, setgroups=159, setresuid=147, vmsplice=75, lookup_dcookie=18, process_madvise=440,
        landlock_restrict_self=446,
    ),
}[MACHINE]
