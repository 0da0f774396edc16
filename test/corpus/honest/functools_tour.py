"""functools: cache, partial, singledispatch, wraps, total_ordering."""
import functools
from functools import cache, lru_cache, partial, reduce, singledispatch, total_ordering, wraps


@cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@lru_cache(maxsize=None)
def ways(amount, coins=(50, 20, 10, 5, 2, 1)):
    if amount == 0:
        return 1
    if amount < 0 or not coins:
        return 0
    return ways(amount - coins[0], coins) + ways(amount, coins[1:])


def logged(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        print(f"{function.__name__}{args} -> {result}")
        return result

    return wrapper


@logged
def add(a, b):
    """Add two numbers."""
    return a + b


@singledispatch
def show(value):
    return f"? {value}"


@show.register
def _(value: int):
    return f"int {value}"


@show.register(list)
def _(value):
    return "list " + ",".join(map(show, value))


@total_ordering
class Version:
    def __init__(self, text):
        self.parts = tuple(map(int, text.split(".")))

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts


print(fib(80), ways(100), fib.cache_info().hits > 0)
print(add(1, 2), add.__doc__, add.__wrapped__(3, 4), add.__name__)
print(show([1, "a"]), partial(pow, 2)(10), reduce(lambda a, b: a * b, [1, 2, 3, 4]))
print(Version("1.10") > Version("1.9"), max(map(Version, ["1.2", "1.11"])).parts)
print(sorted(["b", "A", "c"], key=functools.cmp_to_key(lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))))
