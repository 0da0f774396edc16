# Trick: the module of the builtins.
# Refused: import(builtins)
import builtins

print(builtins.eval("1+1"))
