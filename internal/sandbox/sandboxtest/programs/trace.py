# A program for the suite; see the test that names this file.
import linecache, os, sys

names = sorted(n for n in globals() if not n.startswith("__"))
[names, os.listdir(), [f for f in linecache.cache if f.startswith("<cell")], sys.argv]
