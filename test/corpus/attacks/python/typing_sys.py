# Trick: typing holds sys.
# Refused: unsafe(reexport)
import typing

print(typing.sys.modules["os"].getpid())
