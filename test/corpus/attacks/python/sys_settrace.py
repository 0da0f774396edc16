# Trick: a trace function is given every frame.
# Refused: unsafe(interpreter_hook)
import sys


def trace(frame, event, argument):
    print(event)


sys.settrace(trace)
(lambda: 0)()
sys.settrace(None)
