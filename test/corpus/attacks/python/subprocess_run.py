# Trick: none; the plain call.
# Refused: run(curl)
import subprocess

subprocess.run(["curl", "http://169.254.169.254/"])
