# Trick: an array hands out its view for ctypes, and that the module.
# Refused: unsafe(reexport)
import numpy as np

print(np.zeros(1).ctypes._ctypes.CDLL(None))
