# Trick: the class behind str.format takes the template as an argument.
# Refused: unsafe(dunder)
import string

print(string.Formatter().format("{0.__globals__}", lambda: 0)[:10])
