# A program for the suite; see the test that names this file.
import os, sys

ready, told = os.pipe()
if os.fork() == 0:
    os.write(told, b".")
    while True:
        os.write(2, b"noise" * 100)
os.read(ready, 1)
sys.stdout.write("x" * size)
