# Trick: the method of a template is passed on instead of called.
# Refused: unsafe(dunder)
print(list(map("{0.__class__.__base__}".format, [1])))
