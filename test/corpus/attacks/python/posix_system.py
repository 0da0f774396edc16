# Trick: the module beneath os.
# Refused: run(id)
import posix

posix.system("id")
