# Trick: unpickling calls a function.
# Refused: unsafe(pickle)
import pickle

print(pickle.loads(b"cos\ngetpid\n(tR."))
