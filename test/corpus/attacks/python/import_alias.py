# Trick: __import__ under another name.
# Refused: import(subprocess)
load = __import__
print(load("subprocess").run)
