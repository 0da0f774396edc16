"""What classes and functions tell about themselves."""
from collections import namedtuple
from typing import ClassVar, Literal, Optional, TypedDict


class Shape:
    """A shape."""

    sides: ClassVar[int] = 0
    name: str = "shape"

    def area(self, scale=1, *, unit: "str" = "cm") -> "Optional[float]":
        return None

    def __repr__(self):
        pairs = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({pairs})"

    def __eq__(self, other):
        return self.__dict__ == other.__dict__


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self, scale=1, *, unit: Literal["os.system('x')", "cm"] = "cm"):
        return self.side**2 * scale


class Movie(TypedDict, total=False):
    title: "str"
    year: "int | None"


square = Square(3)
print(square, square == Square(3), square.area(scale=2))
print(Shape.__doc__, Shape.__name__, Square.__bases__[0].__name__, Shape.area.__defaults__, Shape.area.__kwdefaults__)
print([name for name in dir(Square) if not name.startswith("__")], callable(square.area))
print([cls.__name__ for cls in type(square).__mro__], Square.mro()[0].__qualname__, issubclass(Square, Shape))
print(sorted(Movie.__annotations__), Shape.__dict__["sides"], square.__class__.__name__)
Pair = namedtuple("Pair", "left right", defaults=[0])
pair = Pair(1)
print(pair, pair._asdict(), pair._replace(left=5), Pair._fields)
settings = {"__class__": "text", "eval": 1}
print(settings["__class__"], settings["eval"], isinstance(settings, dict), type(None).__name__)
