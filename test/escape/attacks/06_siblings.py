# attack: look into or steer another process (ptrace, process_vm_*, pidfd_getfd, kcmp, perf)
# defence: seccomp refuses the calls; the pid namespace has nobody else in it
syscall("ptrace attach to the reaper", NR["ptrace"], 16, 1, 0, 0, codes=(EPERM, ENOSYS))
syscall("ptrace seize", NR["ptrace"], 0x4206, 1, 0, 0, codes=(EPERM, ENOSYS))
for name in ("process_vm_readv", "process_vm_writev"):
    syscall(name, NR[name], 1, None, 0, None, 0, 0, codes=(EPERM, ENOSYS))
syscall("pidfd_getfd", NR["pidfd_getfd"], 0, 0, 0, codes=(EPERM, ENOSYS))
syscall("kcmp", NR["kcmp"], 1, 2, 0, 0, 0, codes=(EPERM, ENOSYS))
syscall("perf_event_open", NR["perf_event_open"], None, 0, -1, -1, 0, codes=(EPERM, ENOSYS, EACCES))
syscall("process_madvise", NR["process_madvise"], 0, None, 0, 0, 0, codes=(EPERM, ENOSYS))
