# Trick: a data package holds os.
# Refused: unsafe(reexport)
import numpy

print(numpy.os.getpid())
