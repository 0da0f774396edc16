# Trick: enum keeps the builtins under a name of its own.
# Refused: unsafe(reexport)
import enum

print(enum.bltns.eval("1+1"))
