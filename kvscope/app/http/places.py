"""A limited number of places, shared fairly among addresses, with a limited wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from kvscope.app.http.problems import Problem

RETRY_S = 2
BUSY = "The server is answering too many requests, of your address or in total. Try again in a moment."


class Places:
    """`most` places. An address gets one only while more places are free than it has: alone it can have half of them,
    the next address half of the rest, and so on. A new address therefore finds a free place.
    """

    def __init__(self, most: int, wait_s: float) -> None:
        self._most, self._wait_s = most, wait_s
        self._taken: Counter[str] = Counter()
        self._changed = Condition()

    @contextmanager
    def held(self, address: str) -> Iterator[None]:
        """Holds a place. Raises Problem if none becomes free in `wait_s`."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_one_for(address), self._wait_s):
                raise Problem(503, BUSY, limit=self._most, retry_after=RETRY_S)
            self._taken[address] += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken[address] -= 1
                self._taken = +self._taken  # removes zero counts
                self._changed.notify_all()

    def _has_one_for(self, address: str) -> bool:
        return self._taken[address] < self._most - self._taken.total()
