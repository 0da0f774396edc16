# Trick: the dictionary of a module instead of its attributes.
# Refused: unsafe(namespace)
import random

print(random.__dict__["_o" + "s"])
