"""A computation in pieces whose end is noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvscope.model.pieces import Pieces


def begun(pieces: Pieces, work: Callable[[], Any]) -> list[Any]:
    """Begins the work. The list gets what it returns or raises, once it has ended."""
    found: list[Any] = []

    def noted() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    pieces.begin(noted)
    return found
