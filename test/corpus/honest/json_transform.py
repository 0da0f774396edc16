"""Load, transform and dump JSON."""
import json

DOCUMENT = '{"users": [{"id": 1, "name": "Ada", "tags": ["math"]}, {"id": 2, "name": "Bob", "tags": []}], "ok": true}'


def walk(value, path="$"):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk(inner, f"{path}[{index}]")
    else:
        yield path, value


data = json.loads(DOCUMENT)
for path, value in walk(data):
    print(path, "=", json.dumps(value))
data["users"].sort(key=lambda u: u["name"], reverse=True)
print(json.dumps(data, indent=2, sort_keys=True))
try:
    json.loads("{broken")
except json.JSONDecodeError as error:
    print("bad json at", error.lineno, error.colno)
