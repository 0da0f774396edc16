# attack: reach forbidden calls by another calling convention (32-bit int 0x80, x32)
# defence: the filter checks the architecture of each call; x32 numbers are refused
import mmap
if MACHINE != "x86_64":
    check("no other calling convention on this machine", True)
else:
    syscall("x32 getpid", 0x40000000 + 39)
    pid = os.fork()
    if pid == 0:
        # mov eax,20 (getpid of i386); int 0x80; ret
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        got = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(1 if got == os.getpid() else 0)
    status = os.waitpid(pid, 0)[1]
    check("int 0x80 does not reach the kernel's 32-bit calls", os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status)
