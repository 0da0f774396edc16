# Trick: the builtin is kept in a dictionary.
# Refused: run(id)
import os

actions = {"go": os.system}
actions["go"]("id")
