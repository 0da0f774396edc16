# Trick: the name is decoded, in a way that folding does not follow.
# Refused: unsafe(dynamic_attribute)
print(getattr((), bytes([95, 95, 99, 108, 97, 115, 115, 95, 95]).decode("ascii")))
