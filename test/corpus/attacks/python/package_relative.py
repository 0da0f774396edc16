# Trick: a relative import means whatever __package__ says.
# Refused: unsafe(dynamic_import)
__package__ = "os"
from . import path

print(path)
