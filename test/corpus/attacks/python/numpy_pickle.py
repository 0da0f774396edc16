# Trick: an array file may hold pickles.
# Refused: unsafe(pickle)
import numpy as np

np.load("payload.npy", allow_pickle=True)
