# Trick: all names of os without naming one.
# Refused: import(os)
from os import *

print(getpid())
