# Trick: a decorator calls without parentheses.
# Refused: unsafe(exec)
@exec
@"print('ran')".format
class Hidden:
    pass
