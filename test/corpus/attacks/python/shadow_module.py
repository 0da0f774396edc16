# Trick: a file of the program's own takes the place of a module.
# Contained: nothing outside the run's own workspace imports it; the guest's modules are loaded before.
from pathlib import Path

Path("json.py").write_text("print('shadowed')")
import json

print(json.dumps(1))
