# Trick: a module goes through a function's return value.
# Refused: import(socket)
get = lambda: __import__("socket")
print(get().gethostname())
