"""What becomes of a last value."""

from __future__ import annotations

import collections
import enum
import json
import math
import unittest
from typing import Any

from gearbox_guest import values


class Colour(enum.IntEnum):
    RED = 1


class Mood(str):
    def __str__(self) -> str:
        return "overridden"

    __len__ = None  # type: ignore[assignment]


class Silent:
    def __repr__(self) -> str:
        raise SystemExit(3)


class Wordy:
    def __repr__(self) -> str:
        return "é" * 100_000


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Liar:
    __class__ = int  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "liar"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class TestConvert(unittest.TestCase):
    def check(self, value: object, expected: object, type_name: str, warning: str = "") -> None:
        converted = values.convert(value)
        self.assertEqual(converted[:2], (expected, type_name))
        (self.assertIn if warning else self.assertEqual)(warning, converted.warning)
        self.assertIs(type(converted.value), type(expected))
        json.dumps(converted.value, allow_nan=False, ensure_ascii=False).encode()

    def test_none_is_absent(self) -> None:
        self.assertEqual(values.convert(None), (None, "", ""))

    def test_plain_values_become_json(self) -> None:
        for value, name in (
            ("text", "str"), ("", "str"), (True, "bool"), (False, "bool"), (0, "int"), (2**53, "int"), (-(2**53), "int"),
            (1.5, "float"), (-0.0, "float"), ([], "list"), ([1, "a", None, [True]], "list"), ({}, "dict"),
            ({"a": {"b": [1.0]}}, "dict"),
        ):  # fmt: skip
            with self.subTest(value=value):
                self.check(value, value, name)

    def test_all_else_becomes_its_repr(self) -> None:
        for value, name in (
            (2**53 + 1, "int"), (math.inf, "float"), ((1, 2), "tuple"), ({1, 2}, "set"), (b"x", "bytes"), (1j, "complex"),
            ({1: 2}, "dict"), ([1, (2,)], "list"), ({"a": math.inf}, "dict"), ([2**60], "list"), ({"a": {2: 3}}, "dict"),
            (len, "builtin_function_or_method"), (Liar(), "test_values.Liar"),
        ):  # fmt: skip
            with self.subTest(value=value):
                self.check(value, repr(value), name)

    def test_nan_is_no_json(self) -> None:
        self.check(math.nan, "nan", "float")

    def test_subclasses_are_read_with_the_methods_of_their_bases(self) -> None:
        self.check(Colour.RED, 1, "test_values.Colour")
        self.check(Mood("glad"), "glad", "test_values.Mood")
        self.check(collections.OrderedDict(a=1), {"a": 1}, "collections.OrderedDict")
        self.check([Mood("k"), Colour.RED], ["k", 1], "list")

    def test_depth_is_bounded(self) -> None:
        self.check(nested(20), nested(20), "list")
        self.check(nested(21), repr(nested(21)), "list")

    def test_cycles_end(self) -> None:
        loop: list[Any] = [1]
        loop += [loop, loop]
        self.check(loop, "[1, [...], [...]]", "list")
        ring: dict[str, Any] = {}
        ring["ring"] = ring
        self.check(ring, "{'ring': {...}}", "dict")

    def test_size_is_bounded(self) -> None:
        fits = "x" * (values.MAX_JSON - 10)
        self.check(fits, fits, "str")
        for big in (
            "x" * values.MAX_JSON,
            "\n" * values.MAX_JSON,
            ["xy"] * 100_000,
            [10**15] * 60_000,
            {"k": "é" * 200_000},
        ):
            text, _, warning = values.convert(big)
            self.assertIn("too long", warning)
            self.assertTrue(text.endswith("…"), text[-20:])
            self.assertLessEqual(len(text.encode()), values.MAX_REPR)

    def test_an_endless_container_is_not_shown_whole(self) -> None:
        for big in (
            list(range(10**6)),
            tuple(range(10**6)),
            set(range(10**6)),
            dict.fromkeys(range(10**6)),
            b"x" * 10**7,
        ):
            text, _, warning = values.convert(big)
            self.assertIn("too long", warning)
            self.assertTrue(text.endswith("…"))
            self.assertLessEqual(len(text.encode()), values.MAX_REPR)

    def test_a_long_repr_is_cut_at_a_character(self) -> None:
        text, _, warning = values.convert(Wordy())
        self.assertIn("too long", warning)
        self.assertEqual(set(text), {"é", "…"})
        self.assertLessEqual(len(text.encode()), values.MAX_REPR)

    def test_a_repr_that_raises_is_a_warning(self) -> None:
        converted = values.convert(Silent())
        self.assertIsNone(converted.value)
        self.assertEqual(converted.type_name, "test_values.Silent")
        self.assertIn("SystemExit", converted.warning)
        self.assertIn("ValueError", values.convert(10**5000).warning)

    def test_lone_surrogates_are_replaced_and_pairs_joined(self) -> None:
        lost = "lone surrogates"
        self.check("a\ud800b", "a\ufffdb", "str", lost)
        self.check(["\ud83d\ude00", {"\udcff": 1}], ["\U0001f600", {"\ufffd": 1}], "list", lost)
        self.check("\ud83d\ude00\ufffd", "\U0001f600\ufffd", "str")
        self.check(Named("\ud800"), "\ufffd", "test_values.Named", lost)

    def test_classes_are_named_as_readers_know_them(self) -> None:
        self.assertEqual(values.type_name(dict), "dict")
        self.assertEqual(values.type_name(collections.Counter), "collections.Counter")
        self.assertEqual(values.type_name(type("Point", (), {"__module__": "__main__"})), "Point")
        self.assertEqual(values.type_name(type("Odd", (), {"__module__": 3})), "Odd")
