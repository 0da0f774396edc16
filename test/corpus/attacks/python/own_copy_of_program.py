# Trick: a program of the run's own has the name of a harmless one.
# Refused: run(/tmp/ls)
import subprocess

subprocess.run(["/tmp/ls"])
