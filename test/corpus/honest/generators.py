"""Generators, pipelines and itertools."""
import itertools as it


def read(lines):
    for line in lines:
        line = line.strip()
        if line and not line.startswith("#"):
            yield line


def numbers(lines):
    for line in lines:
        yield from (int(part) for part in line.split())


def running_mean():
    total, count, mean = 0, 0, None
    while True:
        value = yield mean
        total, count = total + value, count + 1
        mean = total / count


source = ["# numbers", "1 2 3", "", "10 20", "# end"]
values = list(numbers(read(source)))
print(values)
mean = running_mean()
next(mean)
print([mean.send(v) for v in values])
print(list(it.accumulate(values)), list(it.islice(it.cycle("ab"), 5)))
print([(k, len(list(g))) for k, g in it.groupby("aaabbc")])
print(list(it.combinations("abc", 2)), list(it.product([0, 1], repeat=2)))
print(list(it.chain.from_iterable([[1], [2, 3]])), list(it.zip_longest([1, 2], [3], fillvalue=0)))
