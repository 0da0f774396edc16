# Trick: a file that a later interpreter would run at its start.
# Contained: the workspace is private to the run and interpreters start in isolated mode.
with open("sitecustomize.py", "w") as handle:
    handle.write("print('again')")
