"""Conway's game of life on a set of cells."""
from collections import Counter

NEIGHBOURS = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0)]


def step(cells):
    counts = Counter((x + dx, y + dy) for x, y in cells for dx, dy in NEIGHBOURS)
    return {cell for cell, n in counts.items() if n == 3 or (n == 2 and cell in cells)}


def show(cells, size=6):
    return "\n".join("".join("#" if (x, y) in cells else "." for x in range(size)) for y in range(size))


glider = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
for generation in range(3):
    print(f"generation {generation}\n{show(glider)}")
    glider = step(glider)
