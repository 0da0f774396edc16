# Trick: the builtin is bound inside an expression.
# Refused: unsafe(eval)
print((f := eval)("1+1"))
