# Trick: the importer of built-in modules is found among all classes.
# Refused: unsafe(dunder)
importer = [c for c in object.__subclasses__() if c.__name__ == "BuiltinImporter"][0]
print(importer.load_module("posix").getpid())
