"""Generic containers and protocols."""
from __future__ import annotations

from typing import Any, Callable, Generic, Iterator, NamedTuple, Optional, Protocol, TypeVar, Union, cast, get_type_hints

T = TypeVar("T", bound="Comparable")
K = TypeVar("K")


class Comparable(Protocol):
    def __lt__(self, other: Any) -> bool: ...


class Point(NamedTuple):
    x: float
    y: float = 0.0


class SortedList(Generic[T]):
    def __init__(self, items: Optional[list[T]] = None) -> None:
        self._items: list[T] = sorted(items or [])

    def add(self, item: T) -> "SortedList[T]":
        self._items.append(item)
        self._items.sort()
        return self

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)


def group(items: list[K], key: Callable[[K], Union[str, int]]) -> "dict[str | int, list[K]]":
    groups: dict[Union[str, int], list[K]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


numbers = SortedList([3, 1]).add(2)
print(list(numbers), group(["apple", "avocado", "bean"], lambda w: w[0]))
print(Point(1.5), Point(1, 2)._replace(y=9)._asdict(), Point._fields)
print(sorted(get_type_hints(Point)), cast("int", "5"))
