# Trick: an object of the warnings module keeps its module (a classic of escapes).
# Refused: unsafe(reexport)
import warnings

print(warnings.catch_warnings()._module.sys.modules["os"].getpid())
