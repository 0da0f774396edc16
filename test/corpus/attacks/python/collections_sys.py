# Trick: collections keeps sys under a private name.
# Refused: unsafe(reexport)
import collections

print(collections._sys.modules["os"].getpid())
