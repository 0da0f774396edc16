# attack: leave by a socket: another machine, the host's loopback, netlink, vsock, raw packets, abstract and path sockets
# defence: own network namespace with nothing in it, an allow-list of address families, own root
import socket
families = dict(inet=socket.AF_INET, inet6=socket.AF_INET6, netlink=16, packet=17, alg=38, vsock=40, bluetooth=31, can=29, tipc=30, xdp=44, rds=21, key=15)
for name, family in families.items():
    kind = socket.SOCK_RAW if name in ("netlink", "packet", "key") else socket.SOCK_SEQPACKET if name == "alg" else socket.SOCK_STREAM
    refused(f"socket {name}", lambda f=family, k=kind: socket.socket(f, k))
for target in ("127.0.0.1", "169.254.169.254", "1.1.1.1"):
    refused(f"connect {target}", lambda t=target: socket.create_connection((t, 80), timeout=1))
refused("urlopen", lambda: __import__("urllib.request").request.urlopen("http://1.1.1.1", timeout=1))
for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0"):
    refused(f"connect {path}", lambda p=path: socket.socket(socket.AF_UNIX).connect(p))
refused("connect to an abstract socket", lambda: socket.socket(socket.AF_UNIX).connect("\0/tmp/.X11-unix/X0"))
a, b = socket.socketpair()
a.send(b"x")
check("a socket pair of one's own works", b.recv(1) == b"x")
syscall("SysV shared memory", NR["shmget"], 0x1234, 4096, 0o1666, codes=(EPERM, ENOSYS))
