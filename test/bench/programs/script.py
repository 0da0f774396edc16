import csv
import io
import json
import re


class Order:
    def __init__(self, name, price, count):
        self.name, self.price, self.count = name, float(price), int(count)

    def total(self):
        return self.price * self.count


text = "name,price,count\n" + "\n".join(f"item {n},{n * 1.5},{n % 7}" for n in range(40))
orders = [Order(**row) for row in csv.DictReader(io.StringIO(text)) if re.fullmatch(r"item \d+", row["name"])]
with open("orders.json", "w") as f:
    json.dump({o.name: o.total() for o in orders}, f)
with open("orders.json") as f:
    print(round(sum(json.load(f).values()), 2))
