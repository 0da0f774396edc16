# Trick: the module's name is spelled with letters that Python folds to "os" (PEP 3131).
# Refused: import(os)
import ᵒˢ as z
print(z.getpid())
