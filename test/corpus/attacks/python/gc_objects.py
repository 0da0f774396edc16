# Trick: the garbage collector lists every object there is.
# Refused: unsafe(gc)
import gc

print(len(gc.get_objects()) > 0)
