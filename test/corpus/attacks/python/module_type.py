# Trick: the program's own module is looked at from outside.
# Refused: import(__main__)
import __main__

print(vars(__main__))
