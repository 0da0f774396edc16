# Trick: the same by setattr.
# Refused: unsafe(monkeypatch)
import random

setattr(random, "random", lambda: 4)
print(random.random())
