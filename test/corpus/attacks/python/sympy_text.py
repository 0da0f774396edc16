# Trick: sympy evaluates texts.
# Refused: unsafe(eval)
import sympy

print(sympy.sympify("[].__class__.__base__"))
