"""Dataclasses, enums and sorting."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import Enum, IntEnum, auto


class Category(Enum):
    TOOL = "tool"
    TOY = "toy"


class Priority(IntEnum):
    LOW = auto()
    HIGH = auto()


@dataclass(order=True)
class Item:
    sort_key: tuple = field(init=False, repr=False)
    name: str
    category: Category
    quantity: int = 0
    tags: list[str] = field(default_factory=list)
    priority: Priority = Priority.LOW

    def __post_init__(self) -> None:
        self.sort_key = (-self.priority, self.name)


items = [
    Item("saw", Category.TOOL, 3, ["wood"]),
    Item("kite", Category.TOY, 9),
    Item("drill", Category.TOOL, 1, ["metal", "wood"], Priority.HIGH),
]
for item in sorted(items):
    print(f"{item.name:>6} {item.category.value:<5} {item.priority.name:<5} {item.quantity:03d}")
copy = replace(items[0], quantity=10)
print(copy == items[0], copy.quantity)
print({k: v for k, v in asdict(items[2]).items() if k in ("name", "tags")})
print(Category("toy") is Category.TOY, [c.name for c in Category], Priority.HIGH > Priority.LOW)
