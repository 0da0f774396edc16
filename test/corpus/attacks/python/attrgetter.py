# Trick: operator.attrgetter reads attributes by text.
# Refused: unsafe(dunder)
from operator import attrgetter

print(attrgetter("__class__.__base__.__subclasses__")(())()[0])
