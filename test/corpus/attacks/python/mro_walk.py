# Trick: as subclasses, through __mro__ of a literal's class.
# Refused: unsafe(dunder)
print("".__class__.__mro__[1].__subclasses__()[0])
