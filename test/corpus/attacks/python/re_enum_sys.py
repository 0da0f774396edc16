# Trick: three steps from re to the table of all modules.
# Refused: unsafe(reexport)
import re

print(re.enum.sys.modules["os"].getpid())
