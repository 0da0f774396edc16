# Trick: none; the plain call.
# Refused: unsafe(eval)
print(eval("__import__('os').getpid()"))
