# Trick: a harmless eval is defined and deleted again.
# Refused: unsafe(eval)
def eval(text):
    return text


del eval
print(eval("1+1"))
