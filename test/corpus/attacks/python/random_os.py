# Trick: random keeps os under a private name.
# Refused: unsafe(reexport)
import random

print(random._os.getpid())
