# Trick: invisible tag characters spell a hidden message in a text.
# Refused: unsafe(unicode)
print(len("ok󠁨󠁩"))
