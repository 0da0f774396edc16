"""Recursion: towers of Hanoi, permutations and power sets."""


def hanoi(n, source="A", target="C", spare="B"):
    if n == 0:
        return []
    return hanoi(n - 1, source, spare, target) + [(source, target)] + hanoi(n - 1, spare, target, source)


def permutations(items):
    if len(items) <= 1:
        yield list(items)
        return
    for i, head in enumerate(items):
        for tail in permutations(items[:i] + items[i + 1:]):
            yield [head, *tail]


def power_set(items):
    if not items:
        return [[]]
    rest = power_set(items[1:])
    return rest + [[items[0], *subset] for subset in rest]


moves = hanoi(3)
print(len(moves), moves[:3])
print(["".join(p) for p in permutations("abc")])
print(sorted(power_set([1, 2, 3]), key=lambda s: (len(s), s)))
