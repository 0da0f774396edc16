# Trick: Python 3.14 runs a file inside another process.
# Refused: unsafe(remote_exec)
import sys

print(getattr(sys, "remote_exec", None))
sys.remote_exec
