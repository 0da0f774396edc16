# attack: use up what belongs to the operator's uid (inotify, pipes, namespaces) or fill the scratch space
# defence: quotas in the inner user namespace, one small tmpfs for every writable place
import mmap
instances = 0
try:
    while instances < 100:
        if libc.inotify_init() == -1:
            break
        instances += 1
finally:
    check("inotify instances are few", instances <= 16, instances)
written = 0
try:
    with open(f"{TEMP}/fill", "wb", buffering=0) as f:
        while written < 1 << 28:
            written += f.write(bytes(1 << 20))
except OSError as exc:
    check("the scratch space is bounded", written <= 64 << 20, f"{written} {exc}")
else:
    check("the scratch space is bounded", False, written)
refused("shared memory has no room of its own", lambda: open("/dev/shm/x", "wb", buffering=0).write(bytes(1 << 20)), errno.ENOSPC, EACCES)
os.unlink(f"{TEMP}/fill")
count = 0
try:
    while count < 100_000:
        open(f"{WORK}/{count}", "x").close()
        count += 1
except OSError as exc:
    check("inodes are bounded", count <= 4096, f"{count} {exc}")
else:
    check("inodes are bounded", False, count)
