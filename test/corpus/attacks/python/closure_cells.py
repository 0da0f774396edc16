# Trick: the cells of a closure are read and changed.
# Refused: unsafe(dunder)
def outer():
    secret = 1
    return lambda: secret


print(outer().__closure__[0].cell_contents)
