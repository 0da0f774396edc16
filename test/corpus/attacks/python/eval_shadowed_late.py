# Trick: a function called eval is defined, but only after the builtin was used.
# Refused: unsafe(eval)
print(eval("1+1"))


def eval(text):
    return text
