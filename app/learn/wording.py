"""How values of a run are written in prose."""

from __future__ import annotations

NARROW_SPACE = "\u202f"
UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def written(text: str) -> str:
    """A token as it is written in a sentence: without the space before it, a newline as ⏎."""
    return text.removeprefix(" ").replace("\n", "⏎")


def percent(share: float) -> str:
    """A share in whole percent, with decimals where it is near 0 or 1, so that neither is claimed; beyond, bounds."""
    value = 100 * share
    if value < 0.005:
        return f"less than 0.01{NARROW_SPACE}%"
    if value >= 99.95:
        return f"more than 99.9{NARROW_SPACE}%"
    digits = 1 if value >= 98.5 else 0 if value >= 0.95 else 1 if value >= 0.095 else 2
    return f"{value:.{digits}f}{NARROW_SPACE}%"


def size(count: float) -> str:
    """Bytes with three digits and a unit of powers of ten: 46.1 kB."""
    for each, unit in UNITS:
        if abs(count) >= each:
            return f"{count / each:.3g}{NARROW_SPACE}{unit}"
    return f"{count:,.0f}{NARROW_SPACE}B"


def plain(value: object) -> str:
    """A value as prose has it: 46,080; 0.25; “yes” for True."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if isinstance(value, float):
        text = f"{value:,.3f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"
        return text.replace("-", "−")
    return str(value)
