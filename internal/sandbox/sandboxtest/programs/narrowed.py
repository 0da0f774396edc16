# A program for the suite; see the test that names this file.
import os, sys, threading

seen = []
for act in (os.fork, lambda: os.execv(sys.executable, ["python"])):
    try:
        act()
    except OSError:
        seen.append("refused")
thread = threading.Thread(target=lambda: seen.append("thread"))
thread.start()
thread.join()
seen
