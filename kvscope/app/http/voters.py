"""Limits how many different pages at one address answer a question of a room: no more than may be connected from there.

Anyone can invent ids of pages. Without this limit, one script could give every answer that a question takes.
"""

from __future__ import annotations

from threading import Lock

from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import Visitor
from kvscope.app.store.rooms import MOST_ROOMS


class Voters:
    """Those who answered the present question of each room, in the memory of the process that leads. Requests from this
    machine are not counted.
    """

    def __init__(self, most_per_address: int) -> None:
        self._most = most_per_address
        self._lock = Lock()
        self._votes: dict[str, tuple[int, dict[str, set[str]]]] = {}
        """By the room's code, the last voted in at the end: the number of its question, and the voters by address."""

    def count(self, visitor: Visitor, code: str, question: int, voter: str) -> None:
        """Counts a voter once. `question`: the number of the open vote. Raises Problem if the address has its most."""
        if visitor.is_here:
            return
        with self._lock:
            number, by_address = self._votes.pop(code, (question, {}))
            if number != question:
                by_address = {}
            self._votes[code] = (question, by_address)
            if len(self._votes) > MOST_ROOMS:
                del self._votes[next(iter(self._votes))]
            voters = by_address.setdefault(visitor.address, set())
            if voter not in voters and len(voters) >= self._most:
                sentence = "As many pages at your address have answered as may follow from there."
                raise Problem(429, sentence, field="voter", limit=self._most)
            voters.add(voter)

    def forget(self, code: str) -> None:
        """Forgets a room that has ended."""
        with self._lock:
            self._votes.pop(code, None)
