"""Monte Carlo simulation with a fixed seed."""
import math
import random
from collections import Counter

random.seed(12345)
inside = sum(math.hypot(random.random(), random.random()) <= 1 for _ in range(20_000))
print(abs(4 * inside / 20_000 - math.pi) < 0.05)

rng = random.Random(7)
deck = [rank + suit for rank in "A23456789TJQK" for suit in "shdc"]
rng.shuffle(deck)
print(len(set(deck)), len(deck[:5]))
rolls = Counter(sum(rng.randint(1, 6) for _ in range(2)) for _ in range(3_600))
print(min(rolls), max(rolls), rolls.most_common(1)[0][0] in (6, 7, 8))
position = 0
for step in rng.choices([-1, 1], k=100):
    position += step
print(position % 2 == 0, -100 <= position <= 100)
print(random.sample(range(10), 10) != list(range(10)), 0 <= rng.gauss(0.5, 0.01) <= 1)
