# Trick: the name is joined from letters.
# Refused: unsafe(dunder)
name = "".join(["__", "cla", "ss", "__"])
bases = getattr(getattr((), name), "__" + "base" + "s__")
print(bases)
