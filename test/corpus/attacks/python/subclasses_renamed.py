# Trick: a class of the program's own is replaced by object under the same name.
# Refused: unsafe(dunder)
class Mine:
    pass


Mine = object
print(len(Mine.__subclasses__()))
