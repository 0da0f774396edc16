# Trick: the builtin hides in a default value.
# Refused: unsafe(exec)
def run(text, how=exec):
    return how(text)


run("print('ran')")
