# Trick: the loader of a new program is told what to load.
# Refused: import(os)
import os

os.environ["LD_PRELOAD"] = "/workspace/evil.so"
