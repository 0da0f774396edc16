# Trick: the machinery of imports loads a built-in module.
# Refused: unsafe(dynamic_import)
import importlib.machinery as machinery

print(machinery.BuiltinImporter.load_module("posix").getpid())
