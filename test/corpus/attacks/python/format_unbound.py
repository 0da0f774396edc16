# Trick: str.format is called without a method call on the template.
# Refused: unsafe(dunder)
print(str.format("{0.__class__.__mro__}", 1))
