"""Figures of contenders that take turns: every claim is a ratio taken within a round, since machines are noisy."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Round = Mapping[str, float]
"""A figure by contender, in one round."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A bound of `numerator` ÷ `denominator`."""

    text: str
    numerator: str
    denominator: str
    at_least: float = 0.0
    at_most: float = float("inf")


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Formats the median, least and most."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def print_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Prints a table in Markdown, as in the README."""
    first, *rest = head
    print(f"\n| {' | '.join((first, *rest))} |\n|---|{'---:|' * len(rest)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def print_claims(rounds: Sequence[Round], claims: Iterable[Claim]) -> None:
    """Prints the claims whose contenders took part."""
    print_table(
        ("ratio within a round", "median (min to max)", "wanted"),
        (_line(claim, rounds) for claim in claims if {claim.numerator, claim.denominator} <= set(rounds[0])),
    )


def _line(claim: Claim, rounds: Sequence[Round]) -> tuple[str, ...]:
    ratios = [one[claim.numerator] / one[claim.denominator] for one in rounds]
    wanted = f"≥ {claim.at_least:g}" if claim.at_least else f"≤ {claim.at_most:g}"
    reached = claim.at_least <= statistics.median(ratios) <= claim.at_most
    return claim.text, spread(ratios, 2), wanted if reached else f"{wanted}, not reached"
