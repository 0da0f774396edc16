# Trick: the module's name is only known while the program runs.
# Refused: unsafe(dynamic_import)
print(__import__(input()).getpid())
