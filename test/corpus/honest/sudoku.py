"""Solve a sudoku by backtracking."""

GRID = """
53..7....
6..195...
.98....6.
8...6...3
4..8.3..1
7...2...6
.6....28.
...419..5
....8..79
"""


def parse(text):
    return [[0 if c == "." else int(c) for c in line] for line in text.split()]


def candidates(grid, r, c):
    used = set(grid[r]) | {row[c] for row in grid}
    br, bc = 3 * (r // 3), 3 * (c // 3)
    used |= {grid[i][j] for i in range(br, br + 3) for j in range(bc, bc + 3)}
    return [d for d in range(1, 10) if d not in used]


def solve(grid):
    best = None
    for r in range(9):
        for c in range(9):
            if grid[r][c] == 0:
                options = candidates(grid, r, c)
                if best is None or len(options) < len(best[2]):
                    best = (r, c, options)
    if best is None:
        return True
    r, c, options = best
    for digit in options:
        grid[r][c] = digit
        if solve(grid):
            return True
    grid[r][c] = 0
    return False


grid = parse(GRID)
assert solve(grid)
for row in grid:
    print("".join(map(str, row)))
