# attack: read or change processes outside through /proc (environ, mem, maps, root, cwd, fd)
# defence: own pid namespace, proc mounted inside it with subset=pid and hidepid
try:
    pids = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
except PermissionError:
    pids = []
check("no other process is visible", pids == ([2] if PROC else []), pids)
for part in ("environ", "mem", "maps", "root", "cwd", "fd", "exe", "fdinfo", "map_files"):
    path = f"/proc/1/{part}"
    refused(f"read {path}", lambda p=path: os.listdir(p) if os.path.isdir(p) else os.readlink(p) if part in ("root", "cwd", "exe") else open(p, "rb").read(16) or os.strerror(0))
for pid in (3, 10, 100, 1000, os.getppid() or 4194303, -1):
    if pid == -1:
        continue  # kill(-1) would end this process's own children only
    refused(f"signal process {pid}", lambda p=pid: os.kill(p, 0))
check("the parent is not visible", os.getppid() in (0, 1), os.getppid())
