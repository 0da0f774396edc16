# Trick: U+2028 starts a new line on some pages and terminals and none in Python, so a comment seems to end.
# Refused: unsafe(unicode)
# harmless print("shown as code, is a comment")
print("done")
