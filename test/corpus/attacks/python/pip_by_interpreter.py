# Trick: a package is installed from inside.
# Refused: install(left-pad)
import subprocess
import sys

subprocess.check_call([sys.executable, "-m", "pip", "install", "Left_Pad==1.0"])
