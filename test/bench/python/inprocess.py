"""What a long-lived interpreter without any wall does: exec in its own process.

Each line of standard input is a program as a JSON string, each line of standard output what it printed,
as a JSON string too.
"""

import contextlib
import io
import json
import sys

for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(json.loads(line), "<cell>", "exec"), {"__name__": "__main__"})
    print(json.dumps(out.getvalue()), file=sys.__stdout__, flush=True)
