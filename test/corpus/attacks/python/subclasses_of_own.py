# Trick: the walk begins at a class of the program's own, whose last base is object.
# Refused: unsafe(dunder)
class Mine:
    pass


print(len(Mine.__mro__[-1].__subclasses__()))
