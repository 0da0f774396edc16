# Trick: a module or a file is run under another name.
# Refused: unsafe(exec)
import runpy

runpy.run_module("this")
