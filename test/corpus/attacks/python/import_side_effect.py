# Trick: a module opens a browser by being imported.
# Refused: import(antigravity)
import antigravity
