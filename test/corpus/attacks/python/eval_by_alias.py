# Trick: the builtin under other names, by unpacking.
# Refused: unsafe(exec)
first, second = print, exec
second("first('ran')")
