# Trick: the interpreter's own C functions.
# Refused: import(ctypes)
import ctypes

print(ctypes.pythonapi.PyRun_SimpleString(b"1"))
