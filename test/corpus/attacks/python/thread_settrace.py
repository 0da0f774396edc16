# Trick: a trace function for threads.
# Refused: unsafe(interpreter_hook)
import threading

threading.settrace(lambda frame, event, argument: None)
