# Trick: type's own method is called on object, so that the attribute is not written on it.
# Refused: unsafe(dunder)
print(len(type.__subclasses__(object)))
