# Trick: format_map walks attributes too.
# Refused: unsafe(dunder)
print("{x.__class__.__mro__[1].__subclasses__}".format_map({"x": 1})[:20])
