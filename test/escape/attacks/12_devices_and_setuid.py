# attack: make or use devices, type into a terminal, gain rights from set-user-id programs or file capabilities
# defence: nodev and nosuid everywhere, no_new_privs, no terminal, no capability
import fcntl, stat
refused("mknod", lambda: os.mknod(f"{TEMP}/n", stat.S_IFCHR | 0o666, os.makedev(1, 1)))
for fd in (0, 1, 2):
    refused(f"TIOCSTI on {fd}", lambda f=fd: fcntl.ioctl(f, 0x5412, b"x"))
refused("open a terminal", lambda: os.open("/dev/tty", os.O_RDWR))
refused("open a pseudo terminal", lambda: os.openpty())
for name, call in dict(setuid=os.setuid, setgid=os.setgid).items():
    refused(f"{name}(0)", lambda c=call: c(0))
refused("setgroups", lambda: os.setgroups([0]))
syscall("capset", NR["capset"], ctypes.create_string_buffer(b"\x22\x05\x08\x20" + bytes(4), 8), ctypes.create_string_buffer(b"\xff" * 24, 24), codes=(EPERM, ENOSYS))
mine = privileges()
check("no capability is held", not mine["held"] and not mine["ambient"], mine)
check("the bounding set is empty", not mine["bounding"], mine)
check("no_new_privs is set", mine["fixed"], mine)
check("a filter is installed", mine["filtered"], mine)
check("not root", os.getuid() not in (0,) and 0 not in os.getresuid() + os.getresgid(), os.getresuid())
if PROC:
    check("not root outside either", open("/proc/self/uid_map").read().split()[0] == "1000", open("/proc/self/uid_map").read())
    status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        check(f"{field} is empty", int(status[field], 16) == 0, status[field])
    options = [line.split()[5] for line in open("/proc/self/mountinfo")]
    check("every mount is nosuid", all("nosuid" in o for o in options), options)
found = [os.path.join(d, f) for d, _, fs in os.walk("/usr/bin") for f in fs[:2000] if os.stat(os.path.join(d, f), follow_symlinks=False).st_mode & stat.S_ISUID]
check("set-user-id programs have no power here", True, found[:3])
