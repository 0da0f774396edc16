"""Many ways to format text."""
import string
import textwrap
from datetime import date

name, value = "pi", 3.14159265
print("%s = %.3f" % (name, value))
print("{} = {:>10.2f}".format(name, value))
print("{name!r} has {value:e}".format(name=name, value=value))
print("{0[0]} {0[1]} {1.year}".format(["a", "b"], date(2024, 1, 2)))
print(f"{value=:.2f} {name.upper():*^10} {1_000_000:,} {255:#x} {0.256:.1%}")
print(string.Template("$who likes $what").substitute(who="tim", what="kung pao"))
template = "{greeting}, {who}!"
for greeting in ("Hello", "Hola"):
    print(template.format(greeting=greeting, who="World"))
print("{a}-{b}".format_map({"a": 1, "b": 2}))
text = "Beautiful is better than ugly. Explicit is better than implicit. Simple is better than complex."
print(textwrap.fill(text, width=40, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(text, 35), textwrap.dedent("    x\n      y").splitlines())
print("abc".center(9, "-"), "42".zfill(5), "a\tb".expandtabs(4), string.ascii_lowercase[:5])
width = 12
print("|".join(f"{word:<{width}}" for word in ("left", "aligned")))
