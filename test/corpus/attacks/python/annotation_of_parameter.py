# Trick: singledispatch evaluates the annotation of a parameter.
# Refused: unsafe(eval)
import functools


@functools.singledispatch
def show(value):
    return value


@show.register
def _(value: "eval('int')"):
    return value
