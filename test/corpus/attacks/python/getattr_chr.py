# Trick: the name is built from code points.
# Refused: unsafe(dunder)
print(getattr(print, "".join(map(chr, [95, 95, 115, 101, 108, 102, 95, 95]))))
