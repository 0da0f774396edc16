# attack: run a program that no mount holds (memfd_create, execveat with AT_EMPTY_PATH, /proc/self/fd/N)
# defence: memfd_create is refused; whatever is executed keeps the same filter, namespaces and no_new_privs
syscall("memfd_create", NR["memfd_create"], b"x", 0, codes=(EPERM, ENOSYS))
syscall("memfd_secret", NR["memfd_secret"], 0, codes=(EPERM, ENOSYS))
import shutil, subprocess
copy = f"{TEMP}/program"
shutil.copy("/usr/bin/id" if os.path.exists("/usr/bin/id") else sys.executable, copy)
os.chmod(copy, 0o6755)
code = "import ctypes;l=ctypes.CDLL(None);d=ctypes.create_string_buffer(24);l.capget(ctypes.create_string_buffer(b'\\x22\\x05\\x08\\x20'+bytes(4),8),d);print(d.raw==bytes(24),l.prctl(39,0,0,0,0),l.prctl(21,0,0,0,0))"
done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
if done.returncode == 0:
    check("a new program has no capability and is filtered", done.stdout == "True 1 2\n", done.stdout)
else:
    check("no program starts", True, done.stderr[-80:])
try:
    done = subprocess.run([copy], capture_output=True, text=True)
    check("a set-user-id copy gains nothing", "uid=0" not in done.stdout, done.stdout)
except OSError as exc:
    check("the scratch space runs no program", True, exc)
