"""Temporary files and directories."""
import json
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    base = Path(folder)
    for i in range(3):
        (base / f"part{i}.json").write_text(json.dumps({"n": i}))
    total = sum(json.loads(p.read_text())["n"] for p in sorted(base.glob("part*.json")))
    print(total, len(list(base.iterdir())))
with open("/tmp/gearbox-note.txt", "w") as handle:
    handle.write("hello\n")
with open("/tmp/gearbox-note.txt") as handle:
    print(handle.read().strip())
Path("/tmp/gearbox-note.txt").unlink()
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as handle:
    handle.write("abc")
    handle.seek(0)
    print(handle.read())
