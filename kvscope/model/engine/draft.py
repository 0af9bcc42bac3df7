"""Tokens that are guessed before the model says them, so that one pass can check several (arXiv:2211.17192).

Whoever guesses, the model chooses every token itself, by the same draw from the same distribution as without: a guess
only decides how many rows a pass computes at once. So the text is the same, and its distribution is, where it is
sampled. What was guessed wrong is computed in vain.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_MATCH = 3


def look_up(ids: Sequence[int], most: int) -> list[int]:
    """What came after the same last tokens when they were there before, at most `most` of it.

    Prompt lookup decoding (Saxena 2023). The longest match counts, up to LONGEST_MATCH tokens, and of those the latest.
    """
    for length in range(min(LONGEST_MATCH, len(ids) - 1), 0, -1):
        end = list(ids[-length:])
        for start in range(len(ids) - length - 1, -1, -1):
            if list(ids[start : start + length]) == end:
                return list(ids[start + length : start + length + most])
    return []
