# Trick: a format string walks attributes.
# Refused: unsafe(dunder)
def function():
    pass


print("{0.__globals__[__builtins__]}".format(function)[:20])
