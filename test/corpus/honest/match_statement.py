"""Structural pattern matching."""
from dataclasses import dataclass


@dataclass
class Num:
    value: float


@dataclass
class Bin:
    op: str
    left: object
    right: object


def evaluate(node):
    match node:
        case Num(value=v):
            return v
        case Bin("+", left, right):
            return evaluate(left) + evaluate(right)
        case Bin(op="*", left=left, right=right):
            return evaluate(left) * evaluate(right)
        case Bin(op="/", right=Num(0)):
            raise ZeroDivisionError("constant zero")
        case _:
            raise ValueError(f"cannot evaluate {node!r}")


def describe(command):
    match command.split():
        case ["go", ("north" | "south") as direction]:
            return f"walk {direction}"
        case ["take", *items] if items:
            return "take " + ", ".join(items)
        case []:
            return "nothing"
        case [verb, *_]:
            return f"cannot {verb}"


def kind(value):
    match value:
        case bool() | None:
            return "flag"
        case int() | float():
            return "number"
        case {"type": str(t), **rest}:
            return f"{t} with {sorted(rest)}"
        case str():
            return "text"
        case _:
            return "other"


print(evaluate(Bin("+", Num(2), Bin("*", Num(3), Num(4)))))
try:
    evaluate(Bin("/", Num(1), Num(0)))
except ZeroDivisionError as error:
    print(error)
print([describe(c) for c in ("go north", "take axe rope", "", "take", "eval code")])
print([kind(v) for v in (True, 3, "x", {"type": "a", "n": 1}, [1])])
