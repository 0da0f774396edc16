# Trick: __builtins__ as a dictionary.
# Refused: unsafe(dunder)
print(__builtins__["eval"]("1+1"))
