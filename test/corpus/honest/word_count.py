"""Count words in a text and print the most common ones."""
from collections import Counter
import re

TEXT = """
The quick brown fox jumps over the lazy dog. The dog, being lazy, did not react;
the fox kept running. It is said that import os and eval(code) are just words here,
as is rm -rf / when nobody runs it.
"""

words = re.findall(r"[a-z']+", TEXT.lower())
counts = Counter(words)
for word, count in counts.most_common(5):
    print(f"{word:<8}{count:>3}")
print("total:", sum(counts.values()), "unique:", len(counts))
