"""Pydantic's Monty, an interpreter of its own for a part of Python, with its own pool of worker processes.

Each line of standard input is a program as a JSON string; it gets a fresh session, and what it printed is the answer.
"""

import json
import sys

import pydantic_monty

with pydantic_monty.Monty() as pool:
    for line in sys.stdin:
        out = pydantic_monty.CollectString()
        with pool.checkout() as session:
            session.feed_run(json.loads(line), print_callback=out)
        print(json.dumps(out.output), flush=True)
