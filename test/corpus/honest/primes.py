"""Primes: sieve, factorisation, twin primes."""
import math
import time


def sieve(n):
    flags = bytearray([1]) * (n + 1)
    flags[:2] = b"\0\0"
    for p in range(2, math.isqrt(n) + 1):
        if flags[p]:
            flags[p * p:: p] = bytes(len(range(p * p, n + 1, p)))
    return [i for i, flag in enumerate(flags) if flag]


def factor(n):
    factors, p = {}, 2
    while p * p <= n:
        while n % p == 0:
            factors[p] = factors.get(p, 0) + 1
            n //= p
        p += 1
    if n > 1:
        factors[n] = factors.get(n, 0) + 1
    return factors


started = time.perf_counter()
primes = sieve(1000)
print(len(primes), primes[-3:])
print([(a, b) for a, b in zip(primes, primes[1:]) if b - a == 2][:5])
print(" * ".join(f"{p}^{e}" if e > 1 else str(p) for p, e in factor(360360).items()))
print(math.gcd(84, 36), math.lcm(4, 6), math.comb(10, 3), time.perf_counter() >= started)
