"""Roman numerals, bases, Collatz, perfect numbers and big integers."""
import cmath
import math

ROMAN = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
         (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def roman(n):
    text = ""
    for value, symbol in ROMAN:
        count, n = divmod(n, value)
        text += symbol * count
    return text


def to_base(n, base):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return digits[n] if n < base else to_base(n // base, base) + digits[n % base]


def collatz(n):
    while n != 1:
        yield n
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    yield 1


print([roman(n) for n in (4, 9, 14, 1994, 2024)])
print(to_base(255, 2), to_base(255, 16), int("zz", 36), bin(10), oct(64))
print(list(collatz(6)), max(range(1, 50), key=lambda n: len(list(collatz(n)))))
print([n for n in range(2, 500) if sum(d for d in range(1, n) if n % d == 0) == n])
print(2**200 % 1_000_007, math.factorial(25), pow(3, -1, 7), (0.1 + 0.2).as_integer_ratio()[1])
print(cmath.sqrt(-4), abs(3 + 4j), round(cmath.phase(-1), 4), math.isclose(0.1 + 0.2, 0.3))
