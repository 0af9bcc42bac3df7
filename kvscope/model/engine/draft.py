"""Guesses the next tokens, so that one pass can check several (arXiv:2211.17192).

The model still chooses every token, by the same draw from the same distribution as without guesses. Guesses only decide
how many rows a pass computes, so they do not change the text. The rows of wrong guesses are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_MATCH = 3


def look_up(ids: Sequence[int], most: int) -> list[int]:
    """Returns at most `most` tokens that followed an earlier occurrence of the last tokens.

    Prompt lookup decoding (Saxena 2023): takes the longest match, up to LONGEST_MATCH tokens, and the latest of equals.
    """
    for length in range(min(LONGEST_MATCH, len(ids) - 1), 0, -1):
        end = list(ids[-length:])
        for start in range(len(ids) - length - 1, -1, -1):
            if list(ids[start : start + length]) == end:
                return list(ids[start + length : start + length + most])
    return []
