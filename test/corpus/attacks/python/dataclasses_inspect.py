# Trick: two allowed looking steps to importlib.
# Refused: unsafe(reexport)
import dataclasses as d

print(d.inspect.importlib.import_module("os").getpid())
