# Trick: annotations are put in place as data and then evaluated.
# Refused: unsafe(eval)
import typing


def function():
    pass


function.__annotations__ = {"x": input()}
print(typing.get_type_hints(function))
