"""Anagrams, palindromes, Caesar cipher, run-length encoding."""
from collections import defaultdict
from itertools import groupby
import string


def caesar(text, shift):
    low, up = string.ascii_lowercase, string.ascii_uppercase
    table = str.maketrans(low + up, low[shift:] + low[:shift] + up[shift:] + up[:shift])
    return text.translate(table)


def rle(text):
    return "".join(f"{len(list(run))}{char}" for char, run in groupby(text))


def is_palindrome(text):
    letters = [c.lower() for c in text if c.isalnum()]
    return letters == letters[::-1]


groups = defaultdict(list)
for word in "listen silent enlist google elgoog abc".split():
    groups["".join(sorted(word))].append(word)
print([g for g in groups.values() if len(g) > 1])
secret = caesar("Hello, World!", 3)
print(secret, caesar(secret, 23), rle("aaabccdddd"))
print([is_palindrome(t) for t in ("A man, a plan, a canal: Panama", "nope", "")])
vowels = {v: sum(w.count(v) for w in ("education", "queue")) for v in "aeiou"}
print(vowels, max(vowels, key=lambda v: (vowels[v], v)))
code = "__globals__ is only text, so are __class__ and {0.__class__}"
print(len(code), code.split()[0].strip("_"))
