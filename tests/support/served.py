"""Serves requests together on a tiny engine, as many tests do, and checks each pass by the log's rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby

from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, Record, StepRecord
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.log import schema
from kvscope.model.log.check_serving import ServingCheck
from kvscope.model.serving.request import Tokenized
from kvscope.model.serving.workload import Workload
from kvscope.model.settings import ServingSettings
from tests.support.tiny import greedy, shared_model, tiny_tokenizer

TOKENIZER = tiny_tokenizer()
CONTINUOUS = ServingSettings(at_once=4, chunk=16, blocks=32)


@dataclass
class Served:
    """A workload that was served to its end: what it told, and what others' runs chose meanwhile."""

    passes: list[schema.Pass] = field(default_factory=list)
    rounds: list[schema.Round] = field(default_factory=list)
    close: schema.Close | None = None
    others: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Tokens of other people's runs."""

    def text(self, request: int, number: int = 0) -> list[int]:
        """Tokens that a request got in a round."""
        members = [member for each in self.of(number) for member in each.members if member.request == request]
        return [each.id for member in members if member.token for each in (member.token, *member.more)]

    def note(self, record: Record) -> None:
        """What the engine says of other people's runs."""
        assert not isinstance(record, CloseRecord) or record.reason != "failed"
        if isinstance(record, StepRecord):
            self.others[record.run].append(record.choice.token)

    def texts(self, count: int, number: int = 0) -> list[list[int]]:
        """Of the first requests."""
        return [self.text(request, number) for request in range(count)]

    def of(self, number: int) -> list[schema.Pass]:
        return [each for each in self.passes if each.round == number]

    def events(self, what: str) -> list[schema.ServingEvent]:
        return [event for each in (*self.passes, *self.rounds) for event in each.events if event.what == what]

    def after(self, what: str) -> schema.Pass:
        """The first pass with such an event."""
        return next(each for each in self.passes if any(event.what == what for event in each.events))


def asked(ids: list[int], new: int = 4, arrives_ms: int = 0, cancel_ms: int | None = None) -> Tokenized:
    return Tokenized(ids, new, arrives_ms, cancel_ms)


def token(number: int) -> schema.Token:
    return schema.Token(**TOKENIZER.token(number))


def tiny_engine(reserve: int = 0) -> Engine:
    engine = Engine(shared_model(), capacity=1024, reserve=reserve)
    engine.cache.pool.fill_(float("nan"))  # a row that is read before it is written fails its run
    return engine


def another_engine(blocks: int) -> Engine:
    """An engine with a cache of its own, as a round on several engines makes them."""
    engine = Engine(shared_model(), capacity=blocks * BLOCK_SIZE)
    engine.cache.pool.fill_(float("nan"))
    return engine


def serve(
    engine: Engine,
    requests: list[Tokenized],
    *rounds: ServingSettings,
    before: Callable[[int], None] = lambda number: None,
    meddle: Callable[[int, Workload], None] = lambda number, workload: None,
    step_ms: int = 1,
) -> Served:
    """Serve to the end, on a clock that goes on by a millisecond in each pass; blocks are counted after every one.

    `before` is told the number of the pass that comes; `meddle` may change the workload before it.
    """
    now = [0.0]
    workload = Checked("w", engine, requests, rounds, token, another_engine, clock=lambda: now[0])
    served, check = Served(), ServingCheck(study_of(requests, rounds), BLOCK_SIZE, "study")
    workload.check = check
    while not workload.over:
        meddle(round(now[0] * 1000) + 1, workload)
        told = workload.prepare()
        now[0] += step_ms / 1000
        before(round(now[0] * 1000))
        for record in engine.advance():
            if workload.owns(record.run):
                workload.take(record)  # type: ignore[arg-type]
            else:
                served.note(record)
        if not workload.over:
            told += workload.record_passes(engine.passes)
        for each in told:
            if isinstance(each, schema.Pass):
                served.passes.append(each)
                check.take_pass(each, f"pass {each.number}")
                check_reasons(each, rounds[each.round])
                check_memory(each, rounds[each.round])
            elif isinstance(each, schema.Round):
                served.rounds.append(each)
                check.take_round(each, f"round {each.round}")
            else:
                served.close = each
        assert len(served.passes) < 2000
    return served


def request_of(asked: Tokenized) -> schema.ServedRequest:
    """As a log has it; the prompt's text is of no matter here."""
    return schema.ServedRequest(
        prompt="",
        tokens=len(asked.ids),
        max_new_tokens=asked.max_new_tokens,
        arrives_ms=asked.arrives_ms,
        cancel_ms=asked.cancel_ms,
        cancel_tokens=asked.cancel_tokens,
        retry_of=asked.retry_of,
    )


class Checked(Workload):
    """Tells the check of a log who joins."""

    check: ServingCheck

    def join(self, asked: Tokenized, retry_of: int | None) -> int:
        number = super().join(asked, retry_of)
        self.check.take_asked(schema.Asked(number=number, request=request_of(asked)), f"request {number}")
        return number


def study_of(requests: list[Tokenized], rounds: tuple[ServingSettings, ...]) -> schema.Serving:
    """What the log of such a workload would begin with."""
    return schema.Serving(kind="serving", system="", requests=list(map(request_of, requests)), rounds=list(rounds))


@cache
def continuation(ids: tuple[int, ...]) -> list[int]:
    """The tokens that follow, as many as any request here asks for."""
    return greedy(shared_model(), list(ids), 40)


def check_reasons(told: schema.Pass, settings_: ServingSettings) -> None:
    """What is said of who waits is so: places are taken, blocks are too few, somebody does stand before it."""
    for event in [event for event in told.events if event.what == "waits"]:
        if event.why == "places":
            assert event.count == settings_.at_once
        elif event.why == "budget":
            rows = sum(member.rows for member in told.members)
            assert event.count == settings_.budget
            # Rows for guesses are kept free, also where then nothing is guessed.
            assert rows <= event.count if settings_.draft else rows == event.count
        elif event.why == "blocks":
            assert event.count > event.free
        elif event.why == "stretch":
            assert event.longest < event.count <= event.free
        elif event.why == "order":
            assert not told.requests or told.requests[event.other].state in ("waiting", "preempted")


def check_memory(told: schema.Pass, settings_: ServingSettings) -> None:
    """Every slot is counted once; without paging each request has one stretch of the region, and nobody else's."""
    held = {block for request in told.requests for block in request.table}
    assert len(held) <= settings_.blocks
    assert not held & set(told.pool.others)
    slots = told.pool.slots
    if slots is None:
        assert settings_.contiguous
        assert told.pool.region is None
        assert not told.members
        return
    total = slots.filled + slots.empty + slots.cached + slots.free
    if settings_.contiguous is None:
        assert total == settings_.blocks * BLOCK_SIZE
        assert slots.longest is told.pool.region is None
        return
    region = told.pool.region
    assert (total, region.blocks, slots.cached) == (settings_.blocks * BLOCK_SIZE, settings_.blocks, 0)
    taken = [block for state in told.requests for block in state.table]
    assert len(taken) == len(set(taken))
    free = [block not in taken for block in range(region.first, region.first + region.blocks)]
    longest = max(len(list(run)) if is_free else 0 for is_free, run in groupby(free))
    assert (slots.free, slots.longest) == (sum(free) * BLOCK_SIZE, longest * BLOCK_SIZE)
    for state in told.requests:
        assert state.table == list(range(state.table[0], state.table[0] + len(state.table))) if state.table else True
        assert set(state.table) <= set(range(region.first, region.first + region.blocks))


def most_blocks(request: Tokenized, settings_: ServingSettings) -> int:
    return request.most_blocks(settings_.contiguous.new_tokens if settings_.contiguous else 0)


def alone(request: Tokenized) -> list[int]:
    return continuation(tuple(request.ids))[: request.max_new_tokens]


def all_alone(requests: list[Tokenized]) -> list[list[int]]:
    return [alone(request) for request in requests]
