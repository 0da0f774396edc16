"""Descriptive statistics without third-party packages."""
import math
import statistics as st

data = [2.5, 3.1, 4.7, 5.0, 5.0, 6.2, 7.8, 9.1]
print("mean", round(st.mean(data), 4))
print("median", st.median(data))
print("mode", st.mode(data))
print("stdev", round(st.stdev(data), 4))
print("quantiles", [round(q, 3) for q in st.quantiles(data, n=4)])


def correlation(xs, ys):
    mx, my = st.fmean(xs), st.fmean(ys)
    num = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    den = math.sqrt(sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys))
    return num / den


print("r", round(correlation(data, [x * 2 + 1 for x in data]), 6))
print("hist", {bucket: sum(bucket <= x < bucket + 2 for x in data) for bucket in range(2, 10, 2)})
