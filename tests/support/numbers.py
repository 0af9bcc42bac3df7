"""Numbers as the page writes them."""

import re
from decimal import ROUND_HALF_UP, Decimal

MINUS = "\u2212"
ROUNDING = 1e-5
"""What two float32 passes of one moment may lie apart: a page asked for one, a test or another page for another."""
NUMBER = re.compile(rf"{MINUS}?\d[\d,]*(?:\.\d+)?")


def number(text: str) -> float:
    return float(text.strip().replace(MINUS, "-").replace(",", ""))


def fixed(value: float, digits: int) -> str:
    """With so many decimals. The page rounds a tie up, Python's own formats to even."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def same_but_for_rounding(one: str, other: str, whole: bool = False) -> bool:
    """Whether two texts are the same but for one in the last digit of decimals, or with `whole` of any number."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = [(a, b, len(a.partition(".")[2])) for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)]
    return all(
        a == b if not digits and not whole else abs(number(a) - number(b)) <= 1.01 * 10**-digits
        for a, b, digits in pairs
    )
