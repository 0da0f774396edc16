# attack: reach what namespaces keep apart and Landlock does not look at: modes, owners and times of files, datagram
# sockets with a name, watches on paths, leases, the priorities and groups of other processes
# defence: absent where there are namespaces; elsewhere the filter refuses the calls or pretends them
import fcntl, socket, time

for path in ("/etc/passwd", sys.executable, os.__file__, os.path.dirname(os.__file__)):
    before = os.stat(path)
    for name, attempt in dict(
        mode=lambda p=path: os.chmod(p, 0o777), owner=lambda p=path: os.chown(p, os.getuid(), os.getgid()),
        times=lambda p=path: os.utime(p, (1, 1)), attribute=lambda p=path: os.setxattr(p, "user.x", b"x"),
    ).items():
        try:
            attempt()
        except OSError:
            pass
    after = os.stat(path)
    check(f"{os.path.basename(path)} keeps mode, owner and times",
          (before.st_mode, before.st_uid, before.st_mtime) == (after.st_mode, after.st_uid, after.st_mtime), after)
with open(os.__file__) as f:
    refused("take a lease", lambda: fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK))
try:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for path in ("/dev/log", "/run/systemd/journal/socket", "/run/systemd/notify"):
        refused(f"send a datagram to {path}", lambda p=path: a.sendto(b"x", p))
except OSError as exc:
    check("no datagram socket", True, exc)
watch = libc.inotify_init1(0)
for path in ("/home", "/root", "/var/log", "/etc/shadow"):
    check(f"watch {path}", libc.inotify_add_watch(watch, path.encode(), 0xFFF) < 0)
# Process 1 of a pid namespace is the run's own: whatever is done to it reaches nobody else.
for pid in sorted({os.getppid(), 1}) if LEVEL == "no-userns" else ():
    for name, attempt in dict(
        priority=lambda p=pid: os.setpriority(os.PRIO_PROCESS, p, 19),
        scheduler=lambda p=pid: os.sched_setscheduler(p, os.SCHED_IDLE, os.sched_param(0)),
        affinity=lambda p=pid: os.sched_setaffinity(p, {0}), limits=lambda p=pid: __import__("resource").prlimit(p, 7),
    ).items():
        refused(f"{name} of a process that is not the program's", attempt)
if LEVEL == "no-userns":
    refused("signal to the group of the keeper", lambda: os.killpg(os.getppid(), 0))
    refused("priority of all processes of the user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
