# Trick: the special names come from a list.
# Refused: unsafe(dunder)
thing = lambda: 0
for name in ["__globals__", "__builtins__"]:
    thing = getattr(thing, name, None) or thing[name]
print(type(thing))
