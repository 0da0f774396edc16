# Trick: breakpoint calls what an environment variable names.
# Refused: unsafe(debugger)
import os

os.environ["PYTHONBREAKPOINT"] = "os.getpid"
print(breakpoint())
