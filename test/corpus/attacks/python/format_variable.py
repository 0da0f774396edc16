# Trick: the format string is built elsewhere.
# Refused: unsafe(dunder)
start = "{x.__class__"
template = start + ".__mro__[1].__subclasses__}"
print(template.format(x=1)[:20])
