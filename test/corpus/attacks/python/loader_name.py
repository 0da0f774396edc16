# Trick: the name __loader__ of every module.
# Refused: unsafe(dunder)
print(__loader__)
