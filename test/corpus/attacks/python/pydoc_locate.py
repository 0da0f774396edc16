# Trick: pydoc imports by name.
# Refused: unsafe(dynamic_import)
import pydoc

print(pydoc.locate("os.getpid"))
