# Trick: all globals are walked.
# Refused: unsafe(namespace)
for name, value in list(globals().items()):
    if "builtins" in name:
        print(value)
