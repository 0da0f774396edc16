# attack: learn about the host: names, paths, users, kernel log, other mounts
# defence: own names, an /etc of a few lines, a proc without the kernel's tables
check("the host's name is hidden", os.uname().nodename == "sandbox", os.uname().nodename)
users = [line.split(":")[0] for line in open("/etc/passwd")] if shown("/etc/passwd") else []
check("no user of the host", set(users) <= {"root", "sandbox", "nobody"}, users)
mounts = open("/proc/self/mountinfo").read() if PROC else ""
for word in ("/home/", "/root/", "/var/lib/", "gearbox/python"):
    check(f"no mount tells of {word}", word not in mounts, [l for l in mounts.splitlines() if word in l])
for path in ("/proc/cmdline", "/proc/modules", "/proc/partitions", "/proc/net/tcp", "/proc/version", "/proc/sys"):
    refused(f"read {path}", lambda p=path: os.listdir(p) if os.path.isdir(p) else open(p).read(1) or os.strerror(0))
for path in ("/home", "/root", "/etc/shadow"):
    check(f"nothing tells that there is {path}", not os.path.lexists(path))
