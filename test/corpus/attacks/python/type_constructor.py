# Trick: a function is made by the type of another one.
# Refused: unsafe(code_object)
def function():
    return 1


kind = type(function)
print(kind(function.__code__, {"__builtins__": {}})())
