# Trick: a pattern reads a special attribute without writing a dot.
# Refused: unsafe(dunder)
match ():
    case object(__class__=found):
        print(found.__base__)
