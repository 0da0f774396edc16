# A program for the suite; see the test that names this file.
import os

for fd in range(3, 21):
    try:
        os.write(fd, b'{"jsonrpc":"2.0","id":1,"result":{}}')
    except OSError:
        pass
print("end")
