# Trick: an allowed module holds another module, which holds the builtins.
# Refused: unsafe(reexport)
from json import codecs

print(codecs.builtins.open)
