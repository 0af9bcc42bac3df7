"""Which runs wait for a place among the open ones, in an order that is fair by address, then by client."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import ceil
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kvscope.app.engine.filling import Request
    from kvscope.app.engine.models import ServedModel

REMEMBERED = 20
"""Ended runs from whose durations the duration of a waiting run is estimated."""
CLIENT_SHARE, ADDRESS_SHARE = 0.5, 0.75
"""Of the places: most that one client, and one address, may hold. A client's name is its own word, so a script can make
up any number of them; an address cannot be made up, but a class may be behind one."""


class TooManyRuns(Exception):
    """The queue holds `limit` runs, the most allowed; `retry_after`: seconds to wait before the next try."""

    def __init__(self, message: str, limit: int, retry_after: int):
        super().__init__(message)
        self.limit, self.retry_after = limit, retry_after


class Requester(NamedTuple):
    """Who asked for a run: a client by the name it gives itself, at an address."""

    client: str
    address: str = ""

    @property
    def has_name(self) -> bool:
        """Whether the client names itself; one that does not is known by its address alone."""
        return self.client != self.address


def most_by_address(places: int) -> int:
    """How many of so many places one address may hold."""
    return ceil(places * ADDRESS_SHARE)


def may_hold_more(requester: Requester, holding: Collection[Requester], places: int) -> bool:
    """Whether a requester's client and address hold less than they may. `holding`: who holds each place."""
    of_address = sum(other.address == requester.address for other in holding)
    of_client = sum(other == requester for other in holding)
    most_by_client = ceil(places * CLIENT_SHARE) if requester.has_name else places
    return of_address < most_by_address(places) and of_client < most_by_client


@dataclass(slots=True)
class Waiting:
    """Something that needs a place: `begin` starts it once it has one. `model`: which computes it; `study`: of another
    run.

    `token_sha256`: of the token that takes it out of the line; `request`: what it is, where a row can keep it, and
    `kept`: whether one does; `seen`: when somebody last asked for it (time.monotonic).
    """

    run: str
    requester: Requester
    model: ServedModel
    begin: Callable[[], None]
    ended: Callable[[int], None] = lambda _size: None
    study: bool = False
    token_sha256: str = ""
    request: Request | None = None
    kept: bool = False
    seen: float = field(default_factory=time.monotonic)
    decided: Event = field(default_factory=Event)
    """Set once it has begun, or failed to."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a run in the queue, from 1, and the estimated seconds until it starts; None: not known yet."""

    place: int
    estimate_s: int | None


class Queue:
    """The order: next is the run whose address holds fewest places, of those the one whose client holds fewest; among
    equals, the one that came first.

    Not safe to use from several threads at once.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._took_s: deque[float] = deque(maxlen=REMEMBERED)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, run: str) -> bool:
        return run in self._waiting

    def refuse_too_many(self, requester: Requester, most: int, most_by_client: int) -> None:
        """Raises TooManyRuns where a requester may not queue one more. `most`: runs that may be queued, of those
        `most_by_client` of one client.
        """
        requesters = [waiting.requester for waiting in self._waiting.values()]
        limits = [
            (len(requesters), most, "runs are queued, the most that this server allows"),
            (
                sum(other == requester for other in requesters),
                most_by_client,
                "of your runs are queued, the most that one client may have",
            ),
            (
                sum(other.address == requester.address for other in requesters),
                most_by_address(most),
                "runs from your address are queued, the most that one address may have",
            ),
        ]
        for there, limit, words in limits:
            if there >= limit:
                raise TooManyRuns(f"{limit} {words}. Try again when one has started.", limit, retry_after=5)

    def put(self, waiting: Waiting) -> Waiting:
        """Let it wait, behind those of its client that came before. What waits is returned: where its run does already,
        that, which begins now as the new one would.
        """
        there = self._waiting.setdefault(waiting.run, waiting)
        there.begin = waiting.begin
        return there

    def put_back(self, waiting: Waiting) -> None:
        """Let it wait before all others: it was next."""
        self._waiting = {waiting.run: waiting, **self._waiting}

    def take(self, run: str) -> Waiting | None:
        """Take it out of the line; None where it is not there."""
        return self._waiting.pop(run, None)

    def seen(self, run: str) -> None:
        """Somebody asked for a run just now."""
        self._waiting[run].seen = time.monotonic()

    def ended(self, took_s: float) -> None:
        """A run has held its place for so long."""
        self._took_s.append(took_s)

    def order(self, holding: Iterable[Requester]) -> list[str]:
        """Everything that waits, next first. `holding`: who holds each place."""
        return list(self._in_order(holding))

    def _in_order(self, holding: Iterable[Requester]) -> Iterator[str]:
        requesters = Counter(holding)
        addresses = Counter[str]()
        for requester, places in requesters.items():
            addresses[requester.address] += places
        left = list(self._waiting.values())
        while left:
            chosen = min(left, key=lambda one: (addresses[one.requester.address], requesters[one.requester]))
            left.remove(chosen)
            requesters[chosen.requester] += 1
            addresses[chosen.requester.address] += 1
            yield chosen.run

    @property
    def models(self) -> set[ServedModel]:
        """The models that something waits for."""
        return {waiting.model for waiting in self._waiting.values()}

    def next(
        self, holding: Collection[Requester], places: int, fits: Callable[[Waiting], bool] = lambda _waiting: True
    ) -> str | None:
        """The first run in the order that fits, whose requester may hold one more of `places`; None where none is."""
        order = self._in_order(holding)  # no further than to the first that may: hundreds can be queued
        return next(
            (
                run
                for run in order
                if fits(self._waiting[run]) and may_hold_more(self._waiting[run].requester, holding, places)
            ),
            None,
        )

    def waiting(self, run: str) -> Waiting:
        """What waits under that name."""
        return self._waiting[run]

    def place(self, run: str, holding: Iterable[Requester], free_in_s: Iterable[float | None]) -> Place:
        """Where a run stands, and in how many seconds it begins.

        `free_in_s`: for each place, in how many seconds its run is expected to end; None where that is not known, for
        which the mean duration of ended runs stands in. The runs ahead are expected to take that mean each.
        """
        place = self.order(holding).index(run) + 1
        known = [seconds for seconds in free_in_s if seconds is not None]
        mean = sum(self._took_s) / len(self._took_s) if self._took_s else None
        typical = mean if mean is not None else max(known, default=None)
        if typical is None:
            return Place(place, None)
        ends = [typical if seconds is None else seconds for seconds in free_in_s] or [0.0]
        heapify(ends)
        for _ in range(place - 1):
            heapreplace(ends, ends[0] + typical)
        return Place(place, ceil(ends[0]))

    def abandoned(self, since: float) -> list[str]:
        """The runs that nobody has asked for since then."""
        return [run for run, waiting in self._waiting.items() if waiting.seen < since]
