"""Numbers as the page writes them."""

from __future__ import annotations

MINUS = "\u2212"


def number(text: str) -> float:
    return float(text.strip().replace(MINUS, "-").replace(",", ""))
