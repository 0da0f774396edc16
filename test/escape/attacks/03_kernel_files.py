# attack: write where the kernel or the runner listens (CVE-2019-5736 class: /proc/self/exe; core_pattern; release_agent)
# defence: read-only root and interpreter, proc without sys, no sysfs, no cgroup file system
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
             "/proc/self/exe", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent", "/proc/self/uid_map",
             "/proc/self/gid_map", "/proc/self/setgroups", "/proc/1/oom_score_adj", "/proc/acpi", "/proc/bus/pci"):
    refused(f"write {path}", lambda p=path: open(p, "w").write("x"))
for path in ("/etc/passwd", "/etc/x", "/usr/x", "/lib/x", "/x", "/dev/x", "/proc/x", "/run/x", "/root/x", "/home/x", sys.executable, os.__file__):
    refused(f"write {path}", lambda p=path: open(p, "a").write("x"))
refused("unlink the interpreter", lambda: os.unlink(sys.executable))
for path in ("/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/config.gz", "/proc/iomem", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda",
             "/sys/kernel/debug", "/etc/shadow", "/root/.ssh", "/home", "/var/run/docker.sock", "/run/docker.sock"):
    refused(f"read {path}", lambda p=path: os.listdir(p) if os.path.isdir(p) else open(p, "rb").read(1) or os.strerror(0))
try:
    memory = open("/proc/self/mem", "r+b", buffering=0)
    check("own memory gives no more than one's own rights", True)
except OSError as exc:
    check("own memory is closed", True, exc)
