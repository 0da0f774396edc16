# Trick: get_type_hints evaluates annotations that are text.
# Refused: import(os)
import typing


class Form:
    field: "__import__('os').getpid()"


print(typing.get_type_hints(Form))
