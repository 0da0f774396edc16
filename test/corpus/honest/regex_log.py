"""Parse log lines with regular expressions."""
import re
from collections import Counter

LOG = """\
2024-05-01 10:00:01 INFO  10.0.0.1 GET /index.html 200
2024-05-01 10:00:02 ERROR 10.0.0.2 GET https://example.com/missing 404
2024-05-01 10:00:05 INFO  10.0.0.1 POST /api/eval 201
bad line
"""
PATTERN = re.compile(
    r"""(?P<date>\S+)\s+(?P<time>\S+)\s+(?P<level>INFO|ERROR)\s+
        (?P<ip>\d+(?:\.\d+){3})\s+(?P<verb>[A-Z]+)\s(?P<path>\S+)\s(?P<status>\d{3})""",
    re.VERBOSE,
)

hits = Counter()
for number, line in enumerate(LOG.splitlines(), 1):
    if (match := PATTERN.match(line)) is None:
        print(f"line {number}: cannot parse {line!r}")
        continue
    hits[match["ip"]] += 1
    if match.group("level") == "ERROR":
        print("error:", match.groupdict()["path"], match["status"])
print(dict(hits))
print(re.sub(r"(\d+)\.(\d+)", r"\2.\1", "1.2 and 30.4"), re.split(r"[,;]\s*", "a, b;c"))
