# Trick: the builtin becomes a method.
# Refused: unsafe(eval)
class Tool:
    run = staticmethod(eval)


print(Tool.run("1+1"))
