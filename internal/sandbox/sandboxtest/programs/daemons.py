# A program for the suite; see the test that names this file.
import ctypes, os, signal, time


def become(kind):
    ctypes.CDLL(None).prctl(15, (mark + kind).encode(), 0, 0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(w, b".")
    time.sleep(3600)


r, w = os.pipe()
if os.fork() == 0:
    become("a")
if os.fork() == 0:
    os.setsid()
    become("b")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        become("c")
    os._exit(0)
for _ in range(3):
    os.read(r, 1)
print("ready", flush=True)
time.sleep(3600)
