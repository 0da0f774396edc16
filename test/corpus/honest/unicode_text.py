"""Unicode: normalisation, categories, sorting, emoji."""
import unicodedata

samples = ["café", "cafe\u0301", "naïve", "Straße", "ﬁne", "日本語", "👩‍👩‍👧", "Ελλάδα", "ПРИВЕТ"]
for sample in samples:
    nfc = unicodedata.normalize("NFC", sample)
    print(nfc, len(sample), len(nfc), nfc.casefold(), sep=" | ")
print(samples[0] == samples[1], unicodedata.normalize("NFC", samples[1]) == samples[0])
print([unicodedata.category(c) for c in "aA1 -é"], unicodedata.name("é"))


def strip_accents(text):
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


print(strip_accents("Crème Brûlée à la carte"), "ß".upper(), "İ".lower().encode("utf-8"))
größe = 3
π = 3.14
print(größe * π, "\N{GREEK SMALL LETTER ALPHA}", "\u202e".isprintable(), ascii("ö"))
