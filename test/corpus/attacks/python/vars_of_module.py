# Trick: vars gives the dictionary of a module.
# Refused: unsafe(namespace)
import json

print(vars(json)["codecs"])
