"""A round on several engines: each has a cache and a clock of its own, and a router chooses the engine of a request.

The engines compute their passes in turn, each pass alone on the whole machine, and each pass moves only its engine's
clock: by the time that it took. The next pass is that of the engine whose clock is furthest behind. So the times are
those of as many machines like this one, as long as nothing that they would share, such as a network, is slower.

An engine that only reads prompts gives a request its first token. Then the full blocks of its prompt are copied to an
engine that decodes (separate prefill and decode: DistServe, arXiv:2401.09670; Splitwise, arXiv:2311.18677); the rows
of the last, unfilled block are computed again there.

With two stages (serving.stages) an engine is one batch of a pipeline: each stage has half of the layers and a clock.
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
from kvscope.model.serving.stages import StagedRunner
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
    """One of the engines, with its share of the requests. `staged`: its runner, if its layers are in two stages."""

    place: int
    engine: Engine
    clock: Clock
    round: Round
    staged: StagedRunner | None
    ended: int = 0
    """How many requests its last pass ended."""


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
            clock, engine, staged = Clock(), make_engine(settings.blocks), None
            if self._engines.stages > 1:
                engine.runner = staged = StagedRunner(engine.runner, engine.transformer.config.layers // 2)
            own = Round(owner, number, engine, [], settings, token, clock, states=False)
            self._members.append(Member(place, engine, clock, own, staged))
        self._free = [0.0, 0.0]
        """When each stage has computed its last pass, in seconds."""
        self._routed = 0
        self._order = count()
        self._deliveries: list[Delivery] = []
        for at, each in enumerate(asked):
            self._deliver_later(each.arrives_ms / 1000 / settings.speed, at, each)
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
        before = member.round.open
        for record in member.engine.advance():
            assert isinstance(record, TokenRecord | CloseRecord)
            member.round.take(record)
        member.ended = before - member.round.open
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
            timed, stages = self._timed(member, done)
            frame = member.round.record_pass(first + len(frames), timed)
            more = {"stages": stages} if stages else {}
            frames.append(frame.model_copy(update={"engine": member.place, **more}))
            member.clock.now = timed.started + timed.ms / 1000
        for request in member.round.leaving():
            self._move(member, request)
        return frames

    def _timed(self, member: Member, done: PassRecord) -> tuple[PassRecord, list[schema.Stage]]:
        """Returns the pass with the times of its engine's clock, and its stages, if it has any. A stage begins when it
        has its rows, and has computed the pass before.
        """
        split = member.staged.last if member.staged else None
        if split is None:
            return replace(done, started=member.clock.now), []
        begins = max(member.clock.now, self._free[0])
        self._free[0] = begins + split.first_ms / 1000
        then = max(self._free[0] + split.copy_ms / 1000, self._free[1])
        # What the pass took beside the layers, such as choosing tokens, belongs to the second stage.
        second_ms = done.ms - split.first_ms - split.copy_ms
        self._free[1] = then + second_ms / 1000
        stages = [
            schema.Stage(start_ms=round(begins * 1000, 3), ms=round(split.first_ms, 3), bytes=0, took_ms=0),
            schema.Stage(
                start_ms=round(then * 1000, 3),
                ms=round(second_ms, 3),
                bytes=split.bytes,
                took_ms=round(split.copy_ms, 3),
            ),
        ]
        return replace(done, started=begins, ms=(self._free[1] - begins) * 1000), stages

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
        member, asked, number = self._members[self._route(delivery)], delivery.asked, delivery.number
        self._routed += 1
        _wake(member, delivery.at)
        moves = self._engines.prefill > 0 and asked.max_new_tokens > 1 and asked.most_blocks() <= self._settings.blocks
        member.round.receive(number, replace(asked, max_new_tokens=1) if moves else asked, goes_on=moves)

    def _route(self, delivery: Delivery) -> int:
        """Returns the number of the engine that gets the next request from a client."""
        places, ids = range(self._engines.prefill or self._engines.count), delivery.asked.ids
        match self._engines.route:
            case "turns":
                return self._routed % len(places)
            case "least":
                among = list(places)
            case "prefix":
                cached = [self._members[place].round.cached_rows(ids) for place in places]
                most = max(cached)
                among = [place for place in places if 2 * most < len(ids) or cached[place] == most]
            case unknown:
                assert_never(unknown)
        return min(among, key=lambda place: self._load(self._members[place], delivery.at))

    def _load(self, member: Member, at: float) -> int:
        """Returns how many requests an engine has at that time. Those that its last pass ended count until its end."""
        return member.round.open + (member.ended if member.clock.now > at else 0)

    def _move(self, member: Member, request: ServedRequest) -> None:
        """Begins to move a request that has its first token to an engine that decodes."""
        started = time.perf_counter()
        names, rows = member.round.rows_of(request)
        ms = (time.perf_counter() - started) * 1000
        whole = self._asked[request.number]
        assert request.first is not None
        asked = replace(whole, ids=[*whole.ids, request.first], max_new_tokens=whole.max_new_tokens - 1)
        self._deliver_later(member.clock.now + ms / 1000, request.number, asked, Moving(names, rows, ms))

    def _continue(self, delivery: Delivery, moving: Moving) -> None:
        """Copies the blocks of a request to the decoding engine with the fewest requests, which continues it."""
        decoding = self._members[self._engines.prefill :]
        member = min(decoding, key=lambda each: self._load(each, delivery.at))
        _wake(member, delivery.at)
        asked = replace(delivery.asked, arrives_ms=delivery.at * 1000 * self._settings.speed)
        request = member.round.receive(delivery.number, asked, began=True)
        member.round.adopt(request, moving.names, moving.rows, moving.ms)


def _wake(member: Member, at: float) -> None:
    """Sets the clock of an engine without requests to the time at which it gets one."""
    if not member.round.open:
        member.clock.now = max(member.clock.now, at)
