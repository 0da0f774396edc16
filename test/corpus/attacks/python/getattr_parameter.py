# Trick: a harmless looking helper gets the special name as an argument.
# Refused: unsafe(dunder)
def field(thing, name):
    return getattr(thing, name)


print(field(field, "__globals__"))
