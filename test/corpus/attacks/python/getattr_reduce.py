# Trick: functools.reduce walks a chain of attributes.
# Refused: unsafe(dynamic_attribute)
import functools

print(functools.reduce(getattr, ["__class__", "__base__"], ()))
