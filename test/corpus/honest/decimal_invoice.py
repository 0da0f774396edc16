"""Money with decimal, ratios with fractions."""
from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction

getcontext().prec = 28
CENT = Decimal("0.01")
lines = [("paper", 3, Decimal("4.99")), ("ink", 1, Decimal("19.90")), ("tape", 12, Decimal("0.333"))]
net = sum((q * p for _, q, p in lines), Decimal(0))
tax = (net * Decimal("0.19")).quantize(CENT, rounding=ROUND_HALF_UP)
for name, quantity, price in lines:
    print(f"{name:<6} {quantity:>3} x {price:>6} = {(quantity * price).quantize(CENT):>8}")
print("net", net, "tax", tax, "gross", (net + tax).quantize(CENT))
print(Decimal(1) / Decimal(7))
print(Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), Fraction(3.5).limit_denominator(10))
print(float(Fraction(22, 7)) == 22 / 7)
