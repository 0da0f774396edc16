# A program for the suite; see the test that names this file.
import ctypes, os, signal, time


def become(kind):
    ctypes.CDLL(None).prctl(15, (mark + kind).encode(), 0, 0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(w, b".")
    time.sleep(3600)


def leave():
    try:
        os.setsid()
    except PermissionError:
        pass  # where nobody may leave the group, the group is what dies


r, w = os.pipe()
if os.fork() == 0:
    become("a")
if os.fork() == 0:
    leave()
    become("b")
if os.fork() == 0:
    leave()
    if os.fork() == 0:
        leave()
        become("c")
    os._exit(0)
for _ in range(3):
    os.read(r, 1)
print("ready", flush=True)
time.sleep(3600)
