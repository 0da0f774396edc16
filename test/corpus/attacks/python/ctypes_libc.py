# Trick: the C library through ctypes.
# Refused: unsafe(ctypes)
import ctypes

print(ctypes.CDLL(None).getpid())
