"""Writes numbers for people, as static/shared/facts/format.js does (tests/fixtures/numbers.json)."""

from __future__ import annotations

from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from math import isfinite

NARROW_SPACE = "\u202f"
UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
EXACTLY = Context(prec=800)
"""More digits than any float64 has."""


def integer(value: float) -> str:
    """Writes a number rounded to a whole one, with commas and a true minus sign: 46080 → 46,080."""
    if not isfinite(value):
        return _with_minus(str(value))
    return _with_minus(f"{int((Decimal(float(value)) + Decimal('0.5')).to_integral_value(ROUND_FLOOR)):,}")


def fixed(value: float, digits: int, *, grouped: bool = False) -> str:
    """Writes a number with `digits` decimals and a true minus sign. Ties round away from 0, as `toFixed` does.

    `grouped`: with commas in thousands.
    """
    if not isfinite(value):
        return _with_minus(str(value))
    rounded = Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, EXACTLY)
    return _with_minus(f"{abs(rounded) if rounded == 0 else rounded:{',' if grouped else ''}f}")


def percent(share: float, digits: int = 1) -> str:
    """Writes a share: 0.222 → 22.2 %. One above 0 never reads as 0 %, and one below 1 never as 100 %."""
    least = 10.0**-digits
    value = float(share) * 100
    if 0 < value < least / 2:
        return f"<{NARROW_SPACE}{fixed(least, digits)}{NARROW_SPACE}%"
    if 100 - least / 2 <= value < 100:
        return f">{NARROW_SPACE}{fixed(100 - least, digits)}{NARROW_SPACE}%"
    return f"{fixed(value, digits)}{NARROW_SPACE}%"


def size(count: float) -> str:
    """Writes a number of bytes with three digits and a unit of powers of ten: 46.1 kB."""
    power, unit = next(((power, unit) for power, unit in UNITS if count >= power), (1, "B"))
    value = count / power
    text = integer(value) if value >= 100 or power == 1 else fixed(value, 1 if value >= 10 else 2)
    return f"{text}{NARROW_SPACE}{unit}"


def short(value: float) -> str:
    """Writes a number of a lesson; one that is not whole gets at most four digits: 46,080; 0.254; 12.5."""
    if float(value).is_integer():
        return integer(value)
    return f"{float(Context(prec=4, rounding=ROUND_HALF_UP).create_decimal(Decimal(float(value)))):.12g}"


def _with_minus(text: str) -> str:
    return text.replace("-", "−")
