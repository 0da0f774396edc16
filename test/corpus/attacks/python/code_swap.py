# Trick: the code of a function is replaced.
# Refused: unsafe(code_object)
def quiet():
    return 1


def loud():
    return 2


quiet.__code__ = loud.__code__
print(quiet())
