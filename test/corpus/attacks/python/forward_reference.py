# Trick: a forward reference is evaluated by typing's own helper.
# Refused: import(os)
import typing

reference = typing.ForwardRef("__import__('os').getpid()")
print(reference)
