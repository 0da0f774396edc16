# Trick: a module that is not needed holds sys.
# Refused: import(doctest)
import doctest

print(doctest.sys.modules["os"].getpid())
