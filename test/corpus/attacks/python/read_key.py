# Trick: the operator's key by way of the home directory.
# Refused: read(~/.ssh/id_rsa)
from pathlib import Path

print((Path.home() / ".ssh" / "id_rsa").read_text())
