# Trick: pathlib holds os.
# Refused: unsafe(reexport)
import pathlib

print(pathlib.os.getpid())
