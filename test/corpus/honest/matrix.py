"""Matrices with operator overloading."""
from functools import reduce
from operator import mul


class Matrix:
    __slots__ = ("rows",)

    def __init__(self, rows):
        self.rows = [list(row) for row in rows]

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(row, col)) for col in columns] for row in self.rows])

    def __add__(self, other):
        return Matrix([[a + b for a, b in zip(r, s)] for r, s in zip(self.rows, other.rows)])

    def __eq__(self, other):
        return isinstance(other, Matrix) and self.rows == other.rows

    def __getitem__(self, key):
        i, j = key
        return self.rows[i][j]

    def __pow__(self, n):
        identity = Matrix([[int(i == j) for j in range(len(self.rows))] for i in range(len(self.rows))])
        return reduce(lambda acc, _: acc @ self, range(n), identity)

    def transpose(self):
        return Matrix(zip(*self.rows))

    def determinant(self):
        rows = self.rows
        if len(rows) == 1:
            return rows[0][0]
        minor = lambda j: Matrix([r[:j] + r[j + 1:] for r in rows[1:]]).determinant()
        return sum((-1) ** j * rows[0][j] * minor(j) for j in range(len(rows)))

    def __str__(self):
        return "\n".join(" ".join(f"{x:4d}" for x in row) for row in self.rows)


m = Matrix([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
print(m @ m)
print(m.determinant(), m.transpose() == m, m[1, 2])
fib = Matrix([[1, 1], [1, 0]]) ** 10
print(fib[0, 1], reduce(mul, range(1, 6)))
