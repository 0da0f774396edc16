# Trick: getattr under another name.
# Refused: unsafe(dunder)
look = getattr
print(look(look, "__self__"))
