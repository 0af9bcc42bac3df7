"""Chooses the run that gets a place, and the run that is evicted. These functions read the runs and change nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kvscope.app.engine.run_states import FIRST, IN_QUEUE, PLACED, State

if TYPE_CHECKING:
    from kvscope.app.engine.filling import Request
    from kvscope.app.engine.models import ServedModel

CLIENT_SHARE, ADDRESS_SHARE = 0.5, 0.75
"""The largest share of the places for one client, and for one address. A client names itself, so a script can invent
any number of clients. It cannot invent addresses, but a whole class may share one."""


class TooManyRuns(Exception):
    """The queue has reached a limit: `limit` runs. `retry_after`: seconds to wait before the next try."""

    def __init__(self, message: str, limit: int, retry_after: int):
        super().__init__(message)
        self.limit, self.retry_after = limit, retry_after


class Requester(NamedTuple):
    """Who requested a run: a client, by its own name, and its address."""

    client: str
    address: str = ""

    @property
    def has_name(self) -> bool:
        """Whether the client names itself; otherwise its address is its name."""
        return self.client != self.address


@dataclass(slots=True, eq=False)
class Run:
    """A run that has not ended.

    `model` computes it. `study`: a twin, a beam search or a workload, which cannot be computed again. `ended` receives
    the final size of its log in bytes. `number`: runs join the queue in ascending order. `token_sha256`: hash of the
    token that removes it from the queue.
    """

    id: str
    request: Request
    requester: Requester
    model: ServedModel
    number: int
    ended: Callable[[int], None] = lambda _size: None
    study: bool = False
    token_sha256: str = ""
    state: State = FIRST
    since: float = field(default_factory=time.monotonic)
    """When it entered its state (time.monotonic)."""
    placed_at: float = 0.0
    status_at: float = field(default_factory=time.monotonic)
    """When somebody last requested its status while it was queued."""
    action: str = ""
    """What an evicted run does when it is readmitted: resume or step."""
    unused_bytes: int = 0
    """Bytes that an evicted run may still store."""
    has_row: bool = False
    """Whether the database has a row that queues it again in the next process."""
    most_steps: int | None = None
    """The most tokens it generates; None until its log was read."""
    failure: Exception | None = None
    """Why it could not start or be readmitted."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a run in the queue, from 1, and the estimated seconds until it starts, None without an estimate."""

    place: int
    estimate_s: int | None


def most_by_address(places: int) -> int:
    """Returns how many of `places` one address may have."""
    return ceil(places * ADDRESS_SHARE)


def may_hold_more(requester: Requester, holders: Collection[Requester], places: int) -> bool:
    """Returns whether a requester may have one more of `places`. `holders`: the requester at each taken place."""
    of_address = sum(other.address == requester.address for other in holders)
    of_client = sum(other == requester for other in holders)
    most_by_client = ceil(places * CLIENT_SHARE) if requester.has_name else places
    return of_address < most_by_address(places) and of_client < most_by_client


def queued(runs: Iterable[Run]) -> list[Run]:
    """Returns the queued runs, in the order in which they joined the queue."""
    return sorted((run for run in runs if run.state in IN_QUEUE), key=lambda run: run.number)


def holders(runs: Iterable[Run], model: ServedModel | None = None) -> list[Requester]:
    """Returns the requester of each run that has a place, of one model or of all. A paused run that can be evicted does
    not count."""
    return [
        run.requester
        for run in runs
        if run.state in PLACED and model in (None, run.model) and (run.study or run.state is not State.PAUSED)
    ]


def in_order(runs: Collection[Run]) -> Iterator[Run]:
    """Yields the queued runs, next first: the run whose address has fewest places; if several, the run whose client has
    fewest; if several, the run that joined first.
    """
    clients = Counter(holders(runs))
    addresses = Counter[str]()
    for requester, places in clients.items():
        addresses[requester.address] += places
    remaining = queued(runs)
    while remaining:
        first = min(remaining, key=lambda run: (addresses[run.requester.address], clients[run.requester]))
        remaining.remove(first)
        clients[first.requester] += 1
        addresses[first.requester.address] += 1
        yield first


def next_run(runs: Collection[Run], models: Collection[ServedModel], places: int) -> Run | None:
    """Returns the first queued run of one of `models` whose requester may have one more of `places`, else None."""
    if not models:
        return None
    taken = holders(runs)
    order = in_order(runs)  # lazy: hundreds of runs can be queued
    return next((run for run in order if run.model in models and may_hold_more(run.requester, taken, places)), None)


def refuse_too_many(runs: Iterable[Run], requester: Requester, most: int, most_by_client: int) -> None:
    """Raises TooManyRuns if a requester may not queue one more run. `most`: the most queued runs in total."""
    requesters = [run.requester for run in queued(runs)]
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
    for count, limit, words in limits:
        if count >= limit:
            raise TooManyRuns(f"{limit} {words}. Try again when one has started.", limit, retry_after=5)


def place_of(run: Run, runs: Collection[Run], durations_s: Collection[float], free_in_s: list[float | None]) -> Place:
    """Returns the place of a queued run, and when it will start.

    `durations_s`: how long ended runs had their places. `free_in_s`: for each place that is taken, the estimated
    seconds until it is free; None, without an estimate, counts as the mean of `durations_s`. Each run ahead in the
    queue is expected to take that mean.
    """
    place = list(in_order(runs)).index(run) + 1
    known = [seconds for seconds in free_in_s if seconds is not None]
    typical = sum(durations_s) / len(durations_s) if durations_s else max(known, default=None)
    if typical is None:
        return Place(place, None)
    ends = [typical if seconds is None else seconds for seconds in free_in_s] or [0.0]
    heapify(ends)
    for _ in range(place - 1):
        heapreplace(ends, ends[0] + typical)
    return Place(place, ceil(ends[0]))


def run_to_evict(runs: Iterable[Run], model: ServedModel, abandoned_since: float) -> Run | None:
    """Returns the run of a model that has been paused for longest, None if there is none. A study counts only if it was
    paused before `abandoned_since` (time.monotonic)."""
    paused = [
        run
        for run in runs
        if run.state is State.PAUSED and run.model is model and (not run.study or run.since <= abandoned_since)
    ]
    return min(paused, key=lambda run: run.since, default=None)
