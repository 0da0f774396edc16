# What a program tries that wants its own approval: to find the records and the servers'
# sockets, to reach a server, and to take hold of its process. Each way that leads
# anywhere is printed as a breach. TARGET is what a test tells of the outside.
import contextlib
import ctypes
import os
import signal
import socket

tried = 0


def breach(text):
    print("breach:", text)


@contextlib.contextmanager
def attempt():
    global tried
    tried += 1
    with contextlib.suppress(Exception):
        yield


def search():
    names = ("records.db", "tokens.json", "rules.yaml", "gearbox.yaml", ".lease", ".sock")
    for folder, folders, files in os.walk("/"):
        if folder == "/":
            folders[:] = [f for f in folders if f not in ("proc", "sys")]
        for name in files + folders:
            path = os.path.join(folder, name)
            if name.endswith(names) or os.path.basename(TARGET["data"]) == name:
                breach("there is " + path)
            with attempt():
                if os.path.isfile(path) and os.path.getsize(path) < 1 << 20 and TARGET["mark"].encode() in open(path, "rb").read():
                    breach("the question stands in " + path)


def known_places():
    data = TARGET["data"]
    for path in [data, os.path.join(data, "records.db"), os.path.join(data, "instances"), *TARGET["sockets"]]:
        for root in ["", "/proc/1/root", "/proc/self/root", "/proc/%d/root" % TARGET["pid"], "/proc/%d/cwd" % TARGET["pid"]]:
            with attempt():
                os.stat(root + path)
                breach("it sees " + root + path)
    for path in TARGET["sockets"]:
        for address in [path, "\0" + path, "\0gearbox", "\0" + os.path.basename(path)]:
            with attempt():
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(5)
                    s.connect(address)
                breach("it connects to %r" % address)


def network():
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "::1", "::ffff:127.0.0.1", *TARGET["hosts"]]:
        for family in (socket.AF_INET, socket.AF_INET6):
            with attempt():
                with socket.socket(family) as s:
                    s.settimeout(5)
                    s.connect((host, TARGET["port"]))
                breach("it connects to %s" % host)
    with attempt():
        lines = open("/proc/net/unix").read().splitlines()[1:]
        if any("gearbox" in line or ".sock" in line for line in lines):
            breach("it sees the sockets of the host: %r" % lines)


def processes():
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        for name in ("cmdline", "environ"):
            with attempt():
                text = open("/proc/%s/%s" % (pid, name), "rb").read()
                if TARGET["data"].encode() in text or TARGET["secret"].encode() in text or b"\0serve\0" in text:
                    breach("/proc/%s/%s tells of the server" % (pid, name))
        with attempt():
            for fd in os.listdir("/proc/%s/fd" % pid):
                where = os.readlink("/proc/%s/fd/%s" % (pid, fd))
                if "records" in where or TARGET["data"] in where or "tokens" in where:
                    breach("it holds " + where)
    if TARGET["secret"] in "".join(os.environ.values()):
        breach("the environment tells what nobody granted")
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in {TARGET["pid"], os.getppid(), 1} - {os.getpid(), 0}:
        with attempt():
            if libc.ptrace(16, pid, 0, 0) == 0:  # PTRACE_ATTACH
                breach("it traces %d" % pid)
        with attempt():
            if libc.syscall(434, pid, 0) >= 0 and pid == TARGET["pid"]:  # pidfd_open
                breach("it has a handle of the server")
    with attempt():
        os.kill(TARGET["pid"], signal.SIGCONT)  # of which the server takes no notice
        breach("it signals the server")


for way in (search, known_places, network, processes):
    way()
print("tried" if tried > 50 else "tried only %d ways" % tried)
