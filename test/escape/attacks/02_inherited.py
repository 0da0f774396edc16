# attack: use what was inherited: environment, descriptors, a directory opened outside
# defence: a clean environment, close_range, no descriptor but stdio and the run's own channel
allowed = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED",
           "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "MPLBACKEND", "TZ", "LC_CTYPE", "MPLCONFIGDIR", "MALLOC_ARENA_MAX", "JE_ARROW_MALLOC_CONF"}
check("no variable of the host", set(os.environ) <= allowed, sorted(set(os.environ) - allowed))
import fcntl
targets = {}
for fd in range(0, 4096):
    try:
        fcntl.fcntl(fd, fcntl.F_GETFD)
        targets[fd] = os.readlink(f"/proc/self/fd/{fd}")
    except FileNotFoundError:
        targets[fd] = "pipe:[without /proc nothing tells]"
    except OSError:
        continue
foreign = {fd: t for fd, t in targets.items() if not t.startswith(("pipe:", "socket:", "/dev/null", "/dev/urandom"))}
check("no file or directory of the host is open", not foreign, foreign)
check("stdio, one channel and the random source, no more", len(targets) <= 5, targets)
for fd in targets:
    refused(f"fchdir({fd})", lambda f=fd: os.fchdir(f))
for path in ("/proc/self/cwd/../../..", "/proc/self/root/../.."):
    try:
        os.listdir(path)
    except OSError as exc:
        check(f"{path} stays inside", True, exc)
        continue
    check(f"{path} stays inside", os.path.exists(path + "/python") or sorted(os.listdir(path)) == sorted(os.listdir("/")), os.listdir(path)[:20])
