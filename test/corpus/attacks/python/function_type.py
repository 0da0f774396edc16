# Trick: a function is made of another one's code and globals of choice.
# Refused: unsafe(code_object)
import types


def function():
    return len("x")


print(types.FunctionType(function.__code__, {})())
