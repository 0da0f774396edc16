"""Write a CSV file into the working directory, read it back and remove it."""
import csv
import json
from pathlib import Path

path = Path("people.csv")
rows = [{"name": "Ada", "born": 1815}, {"name": "Alan", "born": 1912}, {"name": "Grace", "born": 1906}]

with open("people.csv", "w", newline="") as handle:
    writer = csv.DictWriter(handle, fieldnames=["name", "born"])
    writer.writeheader()
    writer.writerows(rows)

with path.open() as handle:
    people = [{**row, "born": int(row["born"])} for row in csv.DictReader(handle)]

summary = Path("out") / "summary.json"
summary.parent.mkdir(exist_ok=True)
summary.write_text(json.dumps({"count": len(people), "oldest": min(people, key=lambda p: p["born"])["name"]}))
print(summary.read_text())
print(sorted(p.name for p in Path(".").glob("*.csv")))
summary.unlink()
summary.parent.rmdir()
path.unlink()
print(path.exists())
