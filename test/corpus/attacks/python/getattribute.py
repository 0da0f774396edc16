# Trick: object's own attribute lookup instead of getattr.
# Refused: unsafe(dunder)
print(object.__getattribute__(lambda: 0, "__glob" + "als__"))
