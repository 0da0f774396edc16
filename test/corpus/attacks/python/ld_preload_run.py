# Trick: a harmless program is started with a library of the run's own.
# Refused: run(ls)
import subprocess

subprocess.run(["ls"], env={"LD_PRELOAD": "/workspace/evil.so"})
