# Trick: the table of all modules that are loaded.
# Refused: unsafe(namespace)
import sys

print(sys.modules["posix"].getpid())
