# Trick: the builtin is bound by a comprehension.
# Refused: unsafe(eval)
print([f("1+1") for f in (eval,)])
