# Trick: the dictionary of globals holds the builtins.
# Refused: unsafe(dunder)
print(globals()["__buil" + "tins__"])
