"""A round on several engines: each has a cache and a clock of its own, and a router chooses the engine of a request.

The engines compute their passes in turn, each pass alone on the whole machine, and each pass moves only its engine's
clock: by the time that it took. The next pass is that of the engine whose clock is furthest behind. So the times are
those of as many machines like this one, as long as nothing that they would share, such as a network, is slower.

An engine that only reads prompts gives a request its first token. Then the full blocks of its prompt are copied to an
engine that decodes (separate prefill and decode: DistServe, arXiv:2401.09670; Splitwise, arXiv:2311.18677); the rows
of the last, unfilled block are computed again there.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NoReturn, assert_never

from torch import Tensor

from kvscope.model.api import Refused
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, PassRecord, TokenRecord
from kvscope.model.log import schema
from kvscope.model.serving.request import ServedRequest, Tokenized
from kvscope.model.serving.round import Round
from kvscope.model.settings import ServingSettings

MakeEngine = Callable[[int], Engine]
"""Makes an engine with so many blocks of cache."""


@dataclass(slots=True)
class Clock:
    """`now`: in seconds since the beginning of the round."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Member:
    """One of the engines, with its share of the requests."""

    engine: Engine
    clock: Clock
    round: Round


@dataclass(frozen=True, slots=True)
class Moving:
    """Full blocks of a prompt on their way to another engine: their names and rows, and how long reading them took."""

    names: list[bytes]
    rows: Tensor
    ms: float


@dataclass(order=True, slots=True)
class Delivery:
    """A request that gets to an engine at `at`, in seconds. `moving`: None if it comes from its client."""

    at: float
    order: int
    number: int = field(compare=False)
    asked: Tokenized = field(compare=False)
    moving: Moving | None = field(compare=False, default=None)


class Cluster:
    """Round `number` of workload `owner` on several engines, in place of a `Round`."""

    def __init__(
        self,
        owner: str,
        number: int,
        make_engine: MakeEngine,
        asked: Sequence[Tokenized],
        settings: ServingSettings,
        token: Callable[[int], schema.Token],
    ):
        assert settings.engines is not None
        self._number, self._engines, self._asked, self._settings = number, settings.engines, asked, settings
        self._members = []
        for place in range(self._engines.count):
            clock, engine = Clock(), make_engine(settings.blocks)
            self._members.append(Member(engine, clock, Round(owner, number, engine, [], settings, token, clock, place)))
        self._routed = 0
        self._order = count()
        self._deliveries: list[Delivery] = []
        for at, each in enumerate(asked):
            self._deliver_later(each.arrives_ms / 1000 / settings.speed, at, each)
        self._first: dict[int, int] = {}
        """The first token of each request that is to move."""
        self._computed: tuple[Member, list[PassRecord]] | None = None

    @property
    def over(self) -> bool:
        """Whether all requests have ended, and `record_passes` has reported it."""
        return self._computed is None and not self._deliveries and all(member.round.over for member in self._members)

    @property
    def until_next_s(self) -> float:
        """0: no engine waits for a time of day."""
        return 0.0

    @property
    def now_ms(self) -> int:
        """The time of the engine that is furthest ahead."""
        return int(max(member.clock.now for member in self._members) * 1000)

    @property
    def failure(self) -> str | None:
        """Why a model failed, None if none did."""
        return next((member.round.failure for member in self._members if member.round.failure is not None), None)

    def owns(self, _key: str) -> bool:
        """No run of the engine that computes all other runs is of this round."""
        return False

    def join(self, _asked: Tokenized, _retry_of: int | None) -> NoReturn:
        """Raises Refused."""
        raise Refused("run", "No request can be added to a workload on several engines.", status=409)

    def leave(self, _number: int) -> NoReturn:
        """Raises Refused."""
        raise Refused("run", "No request of a workload on several engines can be cancelled.", status=409)

    def take(self, _record: object) -> NoReturn:
        """The engine that computes all other runs has no records of this round."""
        raise ValueError("the record is of no run of this round")

    def prepare(self) -> None:
        """Delivers requests whose time has come, and computes the next pass."""
        self._computed = None
        while self._deliveries and self._is_next(self._deliveries[0]):
            self._deliver(heapq.heappop(self._deliveries))
        member = self._furthest_behind()
        if member is None:
            return
        member.round.prepare()
        for record in member.engine.advance():
            assert isinstance(record, TokenRecord | CloseRecord)
            member.round.take(record)
            if isinstance(record, TokenRecord):
                self._first.setdefault(member.round.number_of(record.run), record.token)
        self._computed = member, member.engine.passes
        if not member.engine.passes:
            member.clock.now += member.round.until_next_s

    def record_passes(self, first: int, _passes: Sequence[PassRecord]) -> list[schema.Pass]:
        """Returns the frames of the passes since `prepare`, numbered from `first`."""
        if self._computed is None:
            return []
        member, passes = self._computed
        frames: list[schema.Pass] = []
        for done in passes:
            frames.append(member.round.record_pass(first + len(frames), replace(done, started=member.clock.now)))
            member.clock.now += done.ms / 1000
        for request in member.round.leaving():
            self._move(member, request)
        return frames

    def end(self) -> schema.Round:
        """Releases the blocks of all requests; returns the frame of the round."""
        ends = [member.round.end() for member in self._members]
        events = [event for each in ends for event in each.events]
        return schema.Round(round=self._number, ms=max(each.ms for each in ends), others=0, events=events)

    def _furthest_behind(self) -> Member | None:
        busy = (member for member in self._members if member.round.open)
        return min(busy, key=lambda member: member.clock.now, default=None)

    def _is_next(self, delivery: Delivery) -> bool:
        """Returns whether no engine has a pass to compute that begins before it."""
        member = self._furthest_behind()
        return member is None or delivery.at <= member.clock.now

    def _deliver_later(self, at: float, number: int, asked: Tokenized, moving: Moving | None = None) -> None:
        heapq.heappush(self._deliveries, Delivery(at, next(self._order), number, asked, moving))

    def _deliver(self, delivery: Delivery) -> None:
        if delivery.moving is not None:
            self._continue(delivery, delivery.moving)
            return
        member, asked, number = self._members[self._route(delivery.asked)], delivery.asked, delivery.number
        self._routed += 1
        _wake(member, delivery.at)
        # A request that no engine has the blocks for is refused by the first.
        moves = self._engines.prefill > 0 and asked.max_new_tokens > 1 and asked.most_blocks() <= self._settings.blocks
        member.round.receive(number, replace(asked, max_new_tokens=1) if moves else asked, goes_on=moves)

    def _route(self, asked: Tokenized) -> int:
        """Returns the number of the engine that gets the next request from a client."""
        places = range(self._engines.prefill or self._engines.count)
        rounds = [self._members[place].round for place in places]
        match self._engines.route:
            case "turns":
                return self._routed % len(places)
            case "least":
                return min(places, key=lambda place: rounds[place].open)
            case "prefix":
                cached = [rounds[place].cached_rows(asked.ids) for place in places]
                most = max(cached) if 2 * max(cached) >= len(asked.ids) else None
                among = [place for place in places if most in (None, cached[place])]
                return min(among, key=lambda place: rounds[place].open)
            case unknown:
                assert_never(unknown)

    def _move(self, member: Member, request: ServedRequest) -> None:
        """Begins to move a request that has its first token to an engine that decodes."""
        started = time.perf_counter()
        names, rows = member.round.rows_of(request)
        ms = (time.perf_counter() - started) * 1000
        whole, first = self._asked[request.number], self._first.pop(request.number)
        asked = replace(whole, ids=[*whole.ids, first], max_new_tokens=whole.max_new_tokens - 1)
        self._deliver_later(member.clock.now + ms / 1000, request.number, asked, Moving(names, rows, ms))

    def _continue(self, delivery: Delivery, moving: Moving) -> None:
        """Copies the blocks of a request to the decoding engine with the fewest requests, which continues it."""
        member = min(self._members[self._engines.prefill :], key=lambda each: each.round.open)
        _wake(member, delivery.at)
        asked = replace(delivery.asked, arrives_ms=delivery.at * 1000 * self._settings.speed)
        request = member.round.receive(delivery.number, asked, began=True)
        member.round.adopt(request, moving.names, moving.rows, moving.ms)


def _wake(member: Member, at: float) -> None:
    """Sets the clock of an engine without requests to the time at which it gets one."""
    if not member.round.open:
        member.clock.now = max(member.clock.now, at)
