# attack: outlive the run: ignore signals, leave the group, fork twice, kill the reaper
# defence: the pid namespace dies with its first process, whatever the others do; only the host can end that one
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for number in (9, 15, 19):
    # Without a pid namespace it is the parent; with one, kill(2) of 0 would mean this group.
    reaper = os.getppid() or 1
    refused(f"signal {number} to the reaper", lambda n=number: os.kill(reaper, n))
if os.fork() == 0:
    try:
        os.setsid()
    except PermissionError:
        pass
    if os.fork() == 0:
        libc.prctl(1, 0, 0, 0, 0)
        open(f"{WORK}/daemon", "w").write(str(os.getpid()))
        while True:
            time.sleep(1)
    os._exit(0)
while not os.path.exists(f"{WORK}/daemon"):
    pass
check("a daemon was left behind for the host to end", True)
