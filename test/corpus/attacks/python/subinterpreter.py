# Trick: a second interpreter without the first one's audit hooks.
# Refused: unsafe(subinterpreter)
import _interpreters

print(_interpreters.create())
