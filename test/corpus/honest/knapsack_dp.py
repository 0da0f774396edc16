"""Dynamic programming: knapsack, edit distance, longest common subsequence."""


def knapsack(items, capacity):
    best = [0] * (capacity + 1)
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def lcs(a, b):
    table = [[""] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + x if x == y else max(table[i][j + 1], table[i + 1][j], key=len)
    return table[-1][-1]


print(knapsack([(1, 1), (3, 4), (4, 5), (5, 7)], 7))
print(edit_distance("kitten", "sitting"), edit_distance("", "abc"))
print(lcs("AGGTAB", "GXTXAYB"))
