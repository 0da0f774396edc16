# Trick: the attribute's name is put together from two harmless texts.
# Refused: unsafe(reexport)
import json

print(getattr(json, "cod" + "ecs").builtins.open)
