# attack: raise one's own limits or take more than one's share of the processor
# defence: hard limits, no CAP_SYS_RESOURCE, no CAP_SYS_NICE
import resource
for limit in ("RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE"):
    number = getattr(resource, limit)
    hard = resource.getrlimit(number)[1]
    check(f"{limit} is set", hard != resource.RLIM_INFINITY, hard)
    refused(f"raise {limit}", lambda n=number, h=hard: resource.setrlimit(n, (h, h * 2 + 1)))
refused("raise another process's limits", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (1 << 16, 1 << 16)))
refused("nice -20", lambda: os.nice(-20))
refused("real-time scheduling", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))
syscall("real-time disk priority", NR["ioprio_set"], 1, 0, (1 << 13) | 0, codes=(EPERM, ENOSYS))
