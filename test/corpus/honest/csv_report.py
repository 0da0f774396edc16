"""Group sales by region from CSV text."""
import csv
import io
from collections import defaultdict

DATA = """region,product,units,price
North,Widget,10,2.50
South,Widget,4,2.50
North,Gadget,3,10.00
East,Gizmo,7,4.25
South,Gadget,1,10.00
"""


def load(text):
    reader = csv.DictReader(io.StringIO(text))
    for row in reader:
        yield row["region"], int(row["units"]) * float(row["price"])


totals = defaultdict(float)
for region, amount in load(DATA):
    totals[region] += amount

out = io.StringIO()
writer = csv.writer(out, lineterminator="\n")
writer.writerow(["region", "total"])
for region in sorted(totals, key=totals.get, reverse=True):
    writer.writerow([region, f"{totals[region]:.2f}"])
print(out.getvalue(), end="")
