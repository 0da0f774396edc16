# Trick: a data package unpickles.
# Refused: unsafe(pickle)
import pandas

pandas.read_pickle("payload.pkl")
