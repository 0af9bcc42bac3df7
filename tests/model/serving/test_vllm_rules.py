"""The rules of vLLM as settings of a round: a token budget for each pass, and full blocks found by their content.

`Rules` computes the same schedules without an engine, from the rules alone: blocks are known by the tokens up to their
end, not by a hash. Most schedules run with `Reader` in place of the model: it is fast, and its text shows any block
that has other rows than its request's. KVSCOPE_SCHEDULES is their number; 10,000 take minutes.
"""

from __future__ import annotations

import os
import zlib
from array import array
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from kvscope.model.engine.batch import Entry
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.runner import Pass
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.log import schema
from kvscope.model.serving.request import Tokenized
from kvscope.model.settings import Contiguous, Drafting, Kept, ServingSettings
from kvscope.model.weights import ByFormat
from tests.support.served import Served, all_alone, alone, asked, serve, tiny_engine
from tests.support.tiny import forget_all, prompt

SCHEDULES = int(os.environ.get("KVSCOPE_SCHEDULES", "100"))
PER_TEST = 50
WITH_A_MODEL = 15
"""How many of the schedules also run with a transformer."""
Content = tuple[int, ...]


@dataclass(eq=False)
class Block:
    """`content`: all tokens up to the end of the block; None: no request finds it. `by`: the request that filled it."""

    content: Content | None = None
    by: int = -1
    holders: int = 0


@dataclass(eq=False)
class Running:
    """A request: its tokens so far, how many of them are fed, its blocks."""

    number: int
    ids: list[int]
    fed: int = 0
    table: list[Block] = field(default_factory=list)


@dataclass
class Expected:
    """Of one pass: (first, rows) by request, the rows that each newcomer was spared, the evicted blocks by request, and
    the requests that filled the blocks that stay cached.
    """

    rows: dict[int, tuple[int, int]]
    hits: dict[int, int]
    evicted: dict[int, int]
    cached: list[int]


class Reader:
    """A model in place of an engine's: it writes each token to the cache as its row, and its next token follows from
    all that it reads there.
    """

    def __init__(self, engine: Engine):
        self.rows = engine.cache.pool[0, 0, 0, :, 0]

    def run(self, entries: list[Entry], **_: Any) -> Pass:
        for entry in entries:
            self.rows[entry.new_slots] = torch.tensor(entry.ids, dtype=self.rows.dtype)
        logits = torch.zeros(len(entries), 259)
        for at, entry in enumerate(entries):
            logits[at, following(self.rows[entry.slots].tolist())] = 1
        return Pass(
            order=list(range(len(entries))),
            logits=logits,
            outputs=[1] * len(entries),
            captured=[],
            looked_at=[],
            forward_ms=0,
            capture_ms=0,
            weights=ByFormat(),
            by="lines",
            layer_ms=None,
            distributions=list(map(Distribution, logits)),
        )


def following(rows: list[float]) -> int:
    """The token that a `Reader` chooses after these; NaN is no token."""
    return zlib.crc32(bytes(array("i", map(int, rows)))) % 259


def read_alone(request: Tokenized) -> list[int]:
    """The text that a `Reader` gives a request that is alone."""
    ids = list(request.ids)
    for _ in range(request.max_new_tokens):
        ids.append(following(ids))
    return ids[len(request.ids) :]


class Rules:
    """Serves `requests`, whose answers are `texts`, by the rules.

    `queue`: the free blocks, the next to be taken first.
    """

    def __init__(self, requests: list[Tokenized], texts: list[list[int]], settings_: ServingSettings):
        self.requests, self.texts, self.settings = requests, texts, settings_
        self.queue = [Block() for _ in range(settings_.blocks)]
        self.found: list[Block] = []
        """Blocks with content, the oldest first."""
        self.waiting: list[Running] = []
        self.preempted: list[Running] = []
        self.running: list[Running] = []

    def passes(self) -> list[Expected]:
        """All passes until every request has ended; a pass takes a millisecond."""
        coming, expected, now = list(range(len(self.requests))), [], 0
        while coming or self.waiting or self.preempted or self.running:
            for number in [each for each in coming if self.requests[each].arrives_ms <= now]:
                coming.remove(number)
                if self.requests[number].most_blocks() <= self.settings.blocks:
                    self.waiting.append(Running(number, list(self.requests[number].ids)))
            self._cancel(now)
            hits = self._join()
            self._preempt()
            evicted = self._allot()
            rows = {each.number: (each.fed, count) for each, count in self._shares().items() if count}
            self._compute()
            if rows:
                cached = [block.by for block in self.queue if block.content]
                expected.append(Expected(rows, hits, evicted, cached))
            now += 1
        return expected

    def _cancel(self, now: int) -> None:
        for of in (self.waiting, self.preempted, self.running):
            for each in sorted(of, key=lambda each: each.number):
                cancel_ms = self.requests[each.number].cancel_ms
                if cancel_ms is not None and cancel_ms <= now:
                    of.remove(each)
                    self._free(each)

    def _shares(self) -> dict[Running, int]:
        left = self.settings.budget or 10**9
        decoding = [each for each in self.running if self._decodes(each)]
        left -= len(decoding)
        shares = dict.fromkeys(decoding, 1)
        for each in self.running:
            if each not in shares:
                shares[each] = min(self.settings.chunk, len(each.ids) - each.fed, left)
                left -= shares[each]
        return shares

    def _decodes(self, each: Running) -> bool:
        return len(each.ids) > len(self.requests[each.number].ids) and each.fed == len(each.ids) - 1

    def _join(self) -> dict[int, int]:
        hits: dict[int, int] = {}
        while self.preempted or self.waiting:
            queue = self.preempted or self.waiting
            if len(self.running) == self.settings.at_once:
                break
            if self.settings.budget and sum(self._shares().values()) == self.settings.budget:
                break
            newcomer = min(queue, key=lambda each: (self.requests[each.number].arrives_ms, each.number))
            if queue is self.preempted:
                newcomer = min(queue, key=lambda each: each.number)
            chain = self._chain(newcomer.ids)
            need = -(-len(newcomer.ids) // BLOCK_SIZE) - sum(block.holders > 0 for block in chain)
            need += sum(-(-len(each.ids) // BLOCK_SIZE) - len(each.table) for each in self.running)
            if need > len(self.queue):
                break
            queue.remove(newcomer)
            for block in chain:
                block.holders += 1
                if block in self.queue:
                    self.queue.remove(block)
            newcomer.table, newcomer.fed = list(chain), len(chain) * BLOCK_SIZE
            if chain:
                hits[newcomer.number] = newcomer.fed
            self.running.append(newcomer)
        return hits

    def _chain(self, ids: list[int]) -> list[Block]:
        chain: list[Block] = []
        for end in range(BLOCK_SIZE, len(ids), BLOCK_SIZE):
            same = next((block for block in self.found if block.content == tuple(ids[:end])), None)
            if same is None:
                break
            chain.append(same)
        return chain

    def _missing(self) -> dict[Running, int]:
        ends = {each: each.fed + rows for each, rows in self._shares().items()}
        return {each: max(0, -(-ends[each] // BLOCK_SIZE) - len(each.table)) for each in self.running}

    def _preempt(self) -> None:
        while sum(self._missing().values()) > len(self.queue):
            youngest = self.running.pop()
            self._free(youngest)
            youngest.fed = 0
            self.preempted.append(youngest)

    def _allot(self) -> dict[int, int]:
        evicted: dict[int, int] = {}
        shares = self._shares()
        for each, count in self._missing().items():
            for _ in range(count):
                block = self.queue.pop(0)
                if block.content:
                    evicted[block.by] = evicted.get(block.by, 0) + 1
                    self.found.remove(block)
                block.content, block.holders = None, 1
                each.table.append(block)
            for at, block in enumerate(each.table[: (each.fed + shares[each]) // BLOCK_SIZE]):
                if block.content is None:
                    block.content, block.by = tuple(each.ids[: (at + 1) * BLOCK_SIZE]), each.number
                    self.found.append(block)
        return evicted

    def _compute(self) -> None:
        ended = []
        for each, rows in self._shares().items():
            each.fed += rows
        for each in self.running:
            request = self.requests[each.number]
            if each.fed == len(each.ids):
                text = self.texts[each.number]
                each.ids.append(text[len(each.ids) - len(request.ids)])
                if len(each.ids) == len(request.ids) + len(text):
                    ended.append(each)
        for each in ended:
            self.running.remove(each)
            self._free(each)

    def _free(self, each: Running) -> None:
        for block in reversed(each.table):
            block.holders -= 1
            if block.holders == 0:
                self.queue.insert(len(self.queue) if block.content else 0, block)
        each.table = []


def seen(done: schema.Pass) -> Expected:
    """What the log of a pass has of what the rules say."""
    assert done.pool.cached is not None
    hits = {event.request: event.count or 0 for event in done.events if event.what == "shared"}
    evicted = Counter[int]()  # one event for each request that takes blocks
    for event in done.events:
        if event.what == "evicted":
            evicted[event.request] += event.count or 0
    rows = {member.request: (member.first, member.rows) for member in done.members}
    return Expected(rows, hits, dict(evicted), [each.request for each in done.pool.cached])


def by_rules(requests: list[Tokenized], model: bool = True, **more: Any) -> Served:
    """Serves the requests by the rules of vLLM, and compares each pass and text with what it should be."""
    settings_ = ServingSettings(prefix="blocks", **more)
    engine = tiny_engine(reserve=64)
    if not model:
        engine.runner.run = Reader(engine).run  # type: ignore[method-assign]
    served = serve(engine, requests, settings_)
    texts = list(map(alone if model else read_alone, requests))
    assert list(map(seen, served.passes)) == Rules(requests, texts, settings_).passes()
    for number, (request, whole) in enumerate(zip(requests, texts, strict=True)):
        text = served.text(number)
        if request.most_blocks() > settings_.blocks:
            assert text == []
        else:
            assert text == (whole if request.cancel_ms is None else whole[: len(text)])
    forget_all(engine)
    assert engine.cache.free_blocks == engine.cache.blocks
    return served


def rows_of(done: schema.Pass) -> dict[int, int]:
    """Rows of each request in a pass."""
    return {member.request: member.rows for member in done.members}


def test_next_tokens_come_first_and_prompts_fill_the_rest_of_the_budget_in_order() -> None:
    requests = [asked(prompt(10), new=6), asked(prompt(30, 1), arrives_ms=2), asked(prompt(9, 2), arrives_ms=2)]
    served = serve(tiny_engine(), requests, ServingSettings(at_once=4, chunk=128, blocks=32, budget=16))
    assert [rows_of(done) for done in served.passes[:6]] == [
        {0: 10},
        {0: 1},
        {0: 1, 1: 15},
        {0: 1, 1: 15},
        {0: 1, 1: 1, 2: 9},
        {0: 1, 1: 1, 2: 1},
    ]
    waits = [(event.request, event.why, event.count) for event in served.events("waits")]
    assert waits == [(2, "budget", 16)]
    assert served.texts(3) == all_alone(requests)


def test_a_chunk_limits_each_prompt_within_the_budget() -> None:
    requests = [asked(prompt(20, seed), new=2) for seed in range(3)]
    served = serve(tiny_engine(), requests, ServingSettings(at_once=3, chunk=8, blocks=32, budget=20))
    assert [rows_of(done) for done in served.passes[:2]] == [{0: 8, 1: 8, 2: 4}, {0: 8, 1: 8, 2: 4}]
    assert served.texts(3) == all_alone(requests)


@pytest.mark.parametrize("budget", [0, 3, 8193])
def test_a_budget_that_cannot_give_every_request_a_row_is_refused(budget: int) -> None:
    with pytest.raises(ValidationError):
        ServingSettings(at_once=4, budget=budget)
    with pytest.raises(ValidationError):
        ServingSettings(at_once=4, budget=11, draft=Drafting(tokens=2))
    assert ServingSettings(at_once=4, budget=12, draft=Drafting(tokens=2)).budget == 12


def test_a_request_finds_the_full_blocks_of_its_beginning_and_computes_at_least_its_last_token() -> None:
    ids = prompt(48)
    late = [asked(each, arrives_ms=9) for each in (ids, ids[:47], ids[:33], [*ids[:15], 1, *ids[16:]])]
    served = by_rules([asked(ids, new=4), *late], at_once=5, chunk=64, blocks=32)
    assert {event.request: event.count for event in served.events("shared")} == {1: 32, 2: 32, 3: 32}
    assert not served.events("copied")
    assert served.texts(5) == all_alone([asked(ids), *late])


def test_a_preempted_request_finds_its_own_blocks_again() -> None:
    requests = [asked(prompt(30, seed), new=20) for seed in range(3)]
    served = by_rules(requests, at_once=3, chunk=64, blocks=7)
    preempted = {event.request for event in served.events("preempted")}
    assert preempted
    again = [event for event in served.events("shared") if event.request in preempted]
    assert all(event.other == event.request for event in again)
    assert again
    assert served.texts(3) == all_alone(requests)


def test_the_end_of_what_ended_first_is_evicted_first() -> None:
    # Each fills 2 blocks and a part of a third, and ends before the next arrives: of 6 blocks, the third request takes
    # the 2 that are not cached, and the end of the first request.
    requests = [asked(prompt(40, seed), new=2, arrives_ms=9 * number) for number, seed in enumerate([0, 1, 2, 0])]
    served = by_rules(requests, at_once=1, chunk=64, blocks=6)
    evicted = [(event.request, event.count) for event in served.events("evicted")]
    assert evicted[0] == (0, 1)
    (hit,) = served.events("shared")
    assert (hit.request, hit.count, hit.other) == (3, 16, 0)


@pytest.mark.parametrize(
    "other",
    [
        {"sharing": False},
        {"reserve": True},
        {"keep": Kept(sinks=1, heavy=0, recent=4)},
        {"contiguous": Contiguous(new_tokens=4)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_full_blocks_do_not_go_with_settings_that_need_other_memory(other: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ServingSettings(prefix="blocks", **other)


SYSTEM, OTHER = prompt(50, 9), prompt(50, 8)


def schedule(seed: int) -> tuple[list[Tokenized], dict[str, Any]]:
    """Random requests, many with the same beginning, and settings of a round for them."""
    random = Random(seed)
    requests = []
    for _ in range(random.randint(1, 8)):
        shared = random.choice([SYSTEM, SYSTEM, OTHER])[: random.choice([0, 15, 16, 17, 32, 50])]
        own = prompt(random.randint(1, 40), random.randint(0, 2))
        arrives, wait = random.randint(0, 30), random.choice([None, None, None, 0, 5, 12])
        cancel = None if wait is None else arrives + wait
        requests.append(asked([*shared, *own], random.randint(1, 24), arrives, cancel))
    at_once, spare = random.randint(1, 6), random.choice([None, 0, 1, 9, 40])
    return requests, {
        "at_once": at_once,
        "chunk": random.choice([1, 7, 16, 128]),
        "blocks": random.randint(3, 24),
        "budget": None if spare is None else at_once + spare,
    }


def check_schedule(seed: int, *, model: bool) -> None:
    requests, settings_ = schedule(seed)
    try:
        served = by_rules(requests, model, **settings_)
    except AssertionError as failed:
        failed.add_note(f"schedule {seed}")
        raise
    for done in served.passes:
        assert sum(rows_of(done).values()) <= (settings_["budget"] or 10**9)


@pytest.mark.parametrize("first", range(0, SCHEDULES, PER_TEST))
def test_whatever_the_schedule_each_pass_is_what_the_rules_say_and_each_text_its_own(first: int) -> None:
    for seed in range(first, min(first + PER_TEST, SCHEDULES)):
        check_schedule(seed, model=False)


def test_the_texts_of_a_transformer_are_those_of_each_request_alone() -> None:
    for seed in range(WITH_A_MODEL):
        check_schedule(seed, model=True)
