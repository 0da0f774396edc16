# Trick: the C function beneath subprocess.
# Refused: import(_posixsubprocess)
import _posixsubprocess

print(_posixsubprocess.fork_exec)
