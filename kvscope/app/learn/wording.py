"""How values of a run are written in prose."""

from __future__ import annotations

from kvscope.app import numbers
from kvscope.app.numbers import NARROW_SPACE


def written(text: str) -> str:
    """A token as it is written in a sentence: without the space before it, a newline as ⏎."""
    return text.removeprefix(" ").replace("\n", "⏎")


def percent(share: float) -> str:
    """A share in whole percent, with decimals where it is near 0 or 1, and bounds in words."""
    value = 100 * share
    text = numbers.percent(share, 1 if value >= 98.5 else 0 if value >= 0.95 else 1 if value >= 0.095 else 2)
    return text.replace(f"<{NARROW_SPACE}", "less than ").replace(f">{NARROW_SPACE}", "more than ")


def plain(value: object) -> str:
    """A value as prose has it: 46,080; 0.25; “yes” for True."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return numbers.integer(value)
    if isinstance(value, float):
        return numbers.fixed(value, 3).rstrip("0").rstrip(".") if abs(value) < 1000 else numbers.integer(value)
    return str(value)
