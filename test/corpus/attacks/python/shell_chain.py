# Trick: a second command behind a harmless first one.
# Refused: run(nc)
import os

os.system("echo ok; nc -l 4444 >/dev/null &")
