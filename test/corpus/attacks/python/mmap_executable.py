# Trick: memory that may be written and executed.
# Refused: unsafe(native)
import mmap

memory = mmap.mmap(-1, 4096, prot=7)
memory.close()
