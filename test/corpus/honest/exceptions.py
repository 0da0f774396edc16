"""Exceptions: chaining, custom classes, finally, else, notes."""


class ValidationError(ValueError):
    def __init__(self, field, message):
        super().__init__(message)
        self.field = field


def parse_age(text):
    try:
        age = int(text)
    except ValueError as error:
        raise ValidationError("age", f"not a number: {text!r}") from error
    else:
        if not 0 <= age < 150:
            raise ValidationError("age", f"out of range: {age}")
        return age
    finally:
        print("checked", text)


for text in ("42", "x", "-1"):
    try:
        print(parse_age(text))
    except ValidationError as error:
        cause = error.__cause__
        print(error.field, "|", error, "|", type(cause).__name__ if cause else None, "|", error.args)

try:
    [][1]
except (KeyError, IndexError) as error:
    print(type(error).__mro__[1].__name__, error)


def risky():
    try:
        return "try"
    finally:
        print("finally runs")


print(risky())
try:
    assert 1 + 1 == 3, "arithmetic"
except AssertionError as error:
    print("assert:", error)
