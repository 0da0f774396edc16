# Trick: a function of a module that others use is replaced.
# Refused: unsafe(monkeypatch)
import json

json.dumps = lambda value: "forged"
print(json.dumps(1))
