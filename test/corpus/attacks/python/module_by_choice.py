# Trick: a variable chooses among the attributes of a module.
# Refused: unsafe(dynamic_attribute)
import random

for key in dir(random):
    if key.endswith("os"):
        print(getattr(random, key))
