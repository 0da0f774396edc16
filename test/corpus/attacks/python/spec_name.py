# Trick: the name __spec__ of every module.
# Refused: unsafe(dunder)
print(__spec__)
