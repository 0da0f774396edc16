"""getattr and setattr on objects of one's own, and math functions by name."""
import math
import operator


class Config:
    debug = False
    level = 1

    def __init__(self, **options):
        for key, value in options.items():
            if not hasattr(self, key):
                raise AttributeError(f"unknown option {key}")
            setattr(self, key, value)

    def __getattr__(self, name):
        return f"<missing {name}>"

    def describe(self, *names):
        return {name: getattr(self, name) for name in names}


class Visitor:
    def visit(self, value):
        method = getattr(self, "visit_" + type(value).__name__, self.generic)
        return method(value)

    def visit_int(self, value):
        return value + 1

    def visit_list(self, values):
        return [self.visit(v) for v in values]

    def generic(self, value):
        return value


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __repr__(self):
        return "Point(" + ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__) + ")"


config = Config(debug=True)
print(config.describe("debug", "level"), getattr(config, "nothing"), getattr(Config, "level", None))
print(Visitor().visit([1, "a", [2]]), Point(1, 2))
for name in ("sqrt", "floor", "ceil"):
    print(name, getattr(math, name)(6.25))
for symbol, name in {"+": "add", "*": "mul"}.items():
    print(symbol, getattr(operator, name)(6, 7))
points = sorted([Point(3, 1), Point(1, 2)], key=operator.attrgetter("x", "y"))
print(points, list(map(operator.itemgetter(1), [(1, "a"), (2, "b")])))
attribute = "level"
print(getattr(config, attribute), hasattr(config, "__len__"), callable(getattr(config, "describe")))
