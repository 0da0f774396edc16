# attack: run a program that no mount holds (memfd_create, execveat with AT_EMPTY_PATH, /proc/self/fd/N)
# defence: memfd_create is refused; whatever is executed keeps the same filter, namespaces and no_new_privs
syscall("memfd_create", NR["memfd_create"], b"x", 0, codes=(EPERM, ENOSYS))
syscall("memfd_secret", NR["memfd_secret"], 0, codes=(EPERM, ENOSYS))
import shutil, subprocess
copy = "/tmp/program"
shutil.copy("/usr/bin/id" if os.path.exists("/usr/bin/id") else sys.executable, copy)
os.chmod(copy, 0o6755)
code = "import os;s=open('/proc/self/status').read();print([l for l in s.splitlines() if l.startswith(('Cap','NoNew','Seccomp:'))])"
done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
if done.returncode == 0:
    check("a new program has no capability", all(set(w.split(chr(92) + "t")[-1].strip("'],")) == {"0"} for w in done.stdout.split("', '") if w.strip("['").startswith("Cap")), done.stdout)
    check("a new program is filtered", "Seccomp:\\t2" in done.stdout and "NoNewPrivs:\\t1" in done.stdout, done.stdout)
else:
    check("no program starts", True, done.stderr[-80:])
try:
    done = subprocess.run([copy], capture_output=True, text=True)
    check("a set-user-id copy gains nothing", "uid=0" not in done.stdout, done.stdout)
except OSError as exc:
    check("the scratch space runs no program", True, exc)
