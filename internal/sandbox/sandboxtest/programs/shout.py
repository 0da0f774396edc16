# A program for the suite; see the test that names this file.
import base64, os

data = base64.b64decode(data)


def shout():
    for fd in range(3, 4096):
        try:
            os.write(fd, data)
        except OSError:
            pass
