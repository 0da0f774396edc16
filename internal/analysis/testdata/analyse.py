"""Analyse programs for the tests: each line is a JSON list of sources, answered by a line with the list of facts.

The first argument is the folder that holds the guest's package, the second a
bound on memory in bytes.
"""

import json
import resource
import sys
import warnings

sys.path.insert(0, sys.argv[1])

from gearbox_guest.analyser import analyse

limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
warnings.simplefilter("ignore")
for line in sys.stdin:
    print(json.dumps([analyse(source)[1] for source in json.loads(line)]), flush=True)
