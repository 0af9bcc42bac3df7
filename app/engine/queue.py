"""Who waits for a place among the open runs, in an order that is fair by client."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from threading import Event

REMEMBERED = 20
"""Runs by whose time an estimate is made."""


@dataclass(slots=True)
class Waiting:
    """Something that needs a place: `begin` starts it once it has one. `client` is who asked; `study`: of another run.

    `token` takes it out of the line; `seen`: when somebody last asked for it (time.monotonic).
    """

    run: str
    client: str
    begin: Callable[[], None]
    ended: Callable[[int], None] = lambda _size: None
    study: bool = False
    token: str = ""
    seen: float = field(default_factory=time.monotonic)
    decided: Event = field(default_factory=Event)
    """Set once it has begun, or failed to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run stands in line, 1 for the next, and in about how many seconds it begins; None: not known yet."""

    place: int
    estimate_s: int | None


class Queue:
    """The order: of those who wait, next is the one whose client has fewest runs open; among equals, who came first.

    Not safe to use from several threads at once.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._took_s: deque[float] = deque(maxlen=REMEMBERED)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, run: str) -> bool:
        return run in self._waiting

    def of_client(self, client: str) -> int:
        """How many a client has in line."""
        return sum(waiting.client == client for waiting in self._waiting.values())

    def put(self, waiting: Waiting) -> None:
        """Let it wait, behind those of its client that came before."""
        self._waiting[waiting.run] = waiting

    def put_back(self, waiting: Waiting) -> None:
        """Let it wait before all others: it was next."""
        self._waiting = {waiting.run: waiting, **self._waiting}

    def take(self, run: str) -> Waiting | None:
        """Take it out of the line; None where it is not there."""
        return self._waiting.pop(run, None)

    def ended(self, took_s: float) -> None:
        """A run has had its place for so long."""
        self._took_s.append(took_s)

    def order(self, open_by_client: Mapping[str, int]) -> list[str]:
        """Everything that waits, next first. `open_by_client`: how many places each client has."""
        having, left, order = Counter(open_by_client), list(self._waiting.values()), list[str]()
        while left:
            chosen = min(left, key=lambda waiting: having[waiting.client])  # the first of equals
            left.remove(chosen)
            having[chosen.client] += 1
            order.append(chosen.run)
        return order

    def place(self, run: str, open_by_client: Mapping[str, int], places: int) -> Place:
        """Where a run that waits stands, when `places` runs are open at a time; it was asked for just now."""
        self._waiting[run].seen = time.monotonic()
        place = self.order(open_by_client).index(run) + 1
        mean = sum(self._took_s) / len(self._took_s) if self._took_s else None
        return Place(place, None if mean is None else ceil(place * mean / places))

    def forsaken(self, since: float) -> list[str]:
        """What nobody has asked for since then."""
        return [run for run, waiting in self._waiting.items() if waiting.seen < since]
