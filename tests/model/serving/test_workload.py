"""Requests answered together: whoever joins, waits, gives way or goes away, every text is what it would be alone."""

from __future__ import annotations

import os
from collections.abc import Set
from contextlib import suppress
from itertools import count
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvscope.model.api import Refused
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull
from kvscope.model.log import schema
from kvscope.model.serving.request import Tokenized
from kvscope.model.serving.workload import Workload
from kvscope.model.settings import MAX_ASKS, Contiguous, Drafting, Kept, ServingSettings
from tests.support.served import (
    CONTINUOUS,
    Served,
    all_alone,
    alone,
    another_engine,
    asked,
    continuation,
    most_blocks,
    serve,
    tiny_engine,
    token,
)
from tests.support.tiny import GREEDY, advance_all, forget_all, greedy, prompt, shared_model


def test_each_pass_serves_all_who_are_there_and_says_what_they_brought() -> None:
    requests = [asked(prompt(20, seed), new=5) for seed in range(3)]
    served = serve(tiny_engine(), requests, CONTINUOUS)
    first, second = served.passes[:2]
    prefills = [
        [(each.request, each.phase, each.first, each.rows) for each in told.members] for told in (first, second)
    ]
    assert prefills == [[(number, "prefill", at, rows) for number in range(3)] for at, rows in ((0, 16), (16, 4))]
    assert all(member.token is None for member in first.members)
    assert {member.phase for member in served.passes[2].members} == {"decode"}
    assert served.texts(3) == all_alone(requests)
    assert [event.what for event in served.passes[0].events] == [*["arrived"] * 3, *["joined"] * 3]
    assert len(served.events("done")) == 3
    assert served.close == schema.Close(reason="length", error=None, steps=0)


def test_a_request_joins_between_two_passes_and_in_a_static_batch_waits_for_its_end() -> None:
    requests = [asked(prompt(5, 1), new=8), asked(prompt(6, 2), new=3, arrives_ms=3)]
    static = ServingSettings(batching="static", at_once=4, chunk=16, blocks=32)
    served = serve(tiny_engine(), requests, CONTINUOUS, static)
    together = [[len(each.members) for each in served.of(number)] for number in (0, 1)]
    assert [max(each) for each in together] == [2, 1]
    assert served.text(1) == served.text(1, 1) == alone(requests[1])


def test_at_twice_the_speed_the_same_requests_arrive_in_half_the_time() -> None:
    requests = [asked(prompt(5, seed), new=3, arrives_ms=40 * seed) for seed in range(4)]
    plain, double = (CONTINUOUS.model_copy(update={"speed": speed}) for speed in (1.0, 2.0))
    served = serve(tiny_engine(), requests, plain, double)
    arrivals = [event.ms for event in served.events("arrived")]
    assert arrivals == [0, 40, 80, 120, 0, 20, 40, 60]
    assert served.texts(4) == served.texts(4, 1) == all_alone(requests)


def test_passes_of_a_workload_with_many_requests_have_no_state_of_each() -> None:
    requests = [asked(prompt(5, seed), new=2) for seed in range(MAX_ASKS + 1)]
    served = serve(tiny_engine(), requests, CONTINUOUS)
    assert {len(each.requests) for each in served.passes} == {0}
    assert len(served.events("done")) == len(requests)
    assert served.texts(len(requests)) == all_alone(requests)


def test_the_same_beginning_is_read_once_and_its_blocks_are_shared() -> None:
    system = prompt(40, 9)
    requests = [asked([*system, *prompt(6, seed)], arrives_ms=4 * seed) for seed in range(3)]
    on, off = CONTINUOUS, ServingSettings(at_once=4, chunk=16, blocks=32, sharing=False)
    served = serve(tiny_engine(), requests, on, off)
    members = [[member for each in served.of(number) for member in each.members] for number in (0, 1)]
    rows = [sum(member.rows for member in each if member.phase == "prefill") for each in members]
    shared = served.events("shared")
    assert [event.request for event in shared] == [1, 2]
    assert rows[1] - rows[0] == sum(event.count or 0 for event in shared) >= 80
    tables = [request.table for request in served.of(0)[-1].requests]
    assert tables[0][:2] == tables[1][:2] == tables[2][:2]
    assert served.events("copied")  # whoever writes to the block that is shared in part
    assert served.texts(3) == served.texts(3, 1) == all_alone(requests)


def test_a_pool_that_is_too_small_makes_the_youngest_give_way_and_its_text_stays_the_same() -> None:
    requests = [asked(prompt(30, seed), new=20) for seed in range(3)]
    served = serve(tiny_engine(), requests, ServingSettings(at_once=3, chunk=64, blocks=7))
    assert {event.request for event in served.events("preempted")} <= {1, 2}
    assert served.events("preempted")
    assert served.texts(3) == all_alone(requests)


def test_who_does_not_join_is_told_why_with_the_numbers_and_once_for_each_reason() -> None:
    requests = [asked(prompt(30, seed), new=8) for seed in range(4)]
    places = serve(tiny_engine(), requests, ServingSettings(at_once=2, chunk=64, blocks=32)).events("waits")
    assert [(event.request, event.why, event.count) for event in places] == [(2, "places", 2), (3, "places", 2)]
    static = ServingSettings(batching="static", at_once=4, chunk=64, blocks=32)
    late = [requests[0], asked(prompt(9), arrives_ms=2)]
    (told,) = serve(tiny_engine(), late, static).events("waits")
    assert (told.request, told.why, told.count) == (1, "static", 1)
    blocks = serve(tiny_engine(), requests, ServingSettings(at_once=4, chunk=64, blocks=5)).events("waits")
    first, behind = blocks[:2]
    assert (first.request, first.why, first.count, first.free) == (2, "blocks", 6, 5)
    assert (behind.request, behind.why, behind.other) == (3, "order", 2)
    assert places[0].free is None


def test_who_gives_up_while_a_pass_goes_on_was_never_kept_out() -> None:
    requests = [asked(prompt(30), new=4), asked(prompt(9), arrives_ms=2, cancel_ms=3)]
    served = serve(tiny_engine(), requests, CONTINUOUS, step_ms=4)
    events = [event.what for told in served.passes for event in told.events if event.request == 1]
    assert events == ["arrived", "cancelled"]


def test_a_token_is_told_with_its_own_pass_where_a_pass_was_retried_run_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tiny_engine()
    run = engine.runner.run

    def alone_only(entries: list[Any], *rest: Any, **more: Any) -> Any:
        assert len(entries) == 1
        return run(entries, *rest, **more)

    monkeypatch.setattr(engine.runner, "run", alone_only)
    served = serve(engine, [asked(prompt(5, seed), new=3) for seed in range(2)], CONTINUOUS)
    for told in served.passes:
        of_a_token = [event for event in told.events if event.what in ("first", "done")]
        assert {event.request for event in of_a_token} <= {member.request for member in told.members}
        assert all(event.ms == pytest.approx(told.start_ms + told.ms, abs=2e-3) for event in of_a_token)
    assert len(served.events("first")) == len(served.events("done")) == 2


def test_reserving_the_greatest_length_holds_its_blocks_from_the_start() -> None:
    requests = [asked(prompt(10), new=40)]
    served = serve(tiny_engine(), requests, ServingSettings(chunk=16, blocks=32, reserve=True), CONTINUOUS)
    reserved, paged = (served.of(number)[0].requests[0] for number in (0, 1))
    assert (len(reserved.table), reserved.positions) == (4, 10)
    assert len(paged.table) == 1


def contiguous(new_tokens: int, blocks: int, **more: Any) -> ServingSettings:
    return ServingSettings(at_once=8, chunk=64, blocks=blocks, contiguous=Contiguous(new_tokens=new_tokens), **more)


def test_without_paging_each_request_reserves_a_stretch_shares_nothing_and_gets_the_same_text() -> None:
    system = prompt(40, 9)
    requests = [asked([*system, *prompt(6, seed)], arrives_ms=3 * seed, new=9) for seed in range(3)]
    served = serve(tiny_engine(), requests, contiguous(50, blocks=18), CONTINUOUS)
    together = next(each for each in served.of(0) if len(each.members) == 3)
    tables = [request.table for request in together.requests]
    assert [len(table) for table in tables] == [6, 6, 6]  # (46 + 50 - 1) / 16
    assert tables[1][0] == tables[0][-1] + 1
    assert {event.request for event in served.events("shared")} == {1, 2}  # of the paged round
    slots = together.pool.slots
    assert (slots.filled, slots.free, slots.longest) == (sum(each.positions for each in together.requests), 0, 0)
    assert slots.empty == 18 * 16 - slots.filled
    assert served.texts(3) == served.texts(3, 1) == all_alone(requests)


def test_a_request_waits_for_a_stretch_while_enough_blocks_are_free_and_uses_what_becomes_free() -> None:
    # 2, 3 and 2 blocks of 9. The first and the third end early: 2 + 2 + 2 are free, of which 2 + 2 are in a row.
    requests = [
        asked(prompt(9, 1), new=3),
        asked(prompt(20, 2), new=14),
        asked(prompt(9, 3), new=4),
        asked(prompt(64, 4), new=5, arrives_ms=1),
    ]
    served = serve(tiny_engine(), requests, contiguous(20, blocks=9))
    waits = [(each.request, each.why, each.count, each.free, each.longest) for each in served.events("waits")]
    assert waits == [(3, "blocks", 6, 2, 2), (3, "stretch", 6, 6, 4)]
    region = served.passes[0].pool.region
    last = next(each for each in reversed(served.passes) if each.requests[3].state == "running")
    assert last.requests[3].table[0] == region.first  # in the place of the first and the second
    assert served.texts(4) == all_alone(requests)


def test_a_request_whose_stretch_is_longer_than_the_region_is_refused() -> None:
    served = serve(tiny_engine(), [asked(prompt(9)), asked(prompt(70, 1))], contiguous(30, blocks=5))
    (refused,) = served.events("refused")
    assert (refused.request, refused.count) == (1, 7)
    assert served.text(0) == alone(asked(prompt(9)))


def test_a_stretch_is_given_back_when_its_request_is_cancelled_and_others_never_share_it() -> None:
    engine, ids = tiny_engine(), prompt(40)
    requests = [asked(ids, new=30, cancel_ms=3), asked(prompt(9, 1), new=8)]

    def look(number: int) -> None:
        if number == 2:
            assert engine.scheduler.holder_of(ids, len(ids) - 1) == (None, 0)

    served = serve(engine, requests, contiguous(40, blocks=9), before=look)
    assert served.text(1) == alone(requests[1])
    after = served.after("cancelled")
    assert after.requests[0].table == []
    assert after.pool.slots.longest == 5 * BLOCK_SIZE
    assert engine.cache.apart == set()
    assert engine.cache.free_blocks == engine.cache.blocks


@pytest.mark.parametrize("sharing", [False, True])
def test_who_is_cancelled_is_dropped_at_once_and_its_retry_reads_what_the_cache_kept(sharing: bool) -> None:
    requests = [Tokenized(prompt(40), 30, 0, None, cancel_tokens=3), Tokenized(prompt(40), 3, 0, None, retry_of=0)]
    served = serve(tiny_engine(), requests, ServingSettings(chunk=16, blocks=32, sharing=sharing))
    assert len(served.text(0)) == 3, "whatever a pass takes"
    [cancelled] = served.events("cancelled")
    [_, arrived] = served.events("arrived")
    # 40 rows of the prompt and 2 of the answer, in blocks of 16
    assert (cancelled.request, cancelled.count, cancelled.free) == (0, 3, 29 if sharing else 32)
    assert arrived.request == 1
    assert arrived.ms <= cancelled.ms, "its client asks again when the first is over"
    after = served.after("cancelled")
    assert len(after.requests[0].table) == (3 if sharing else 0)
    rows = sum(member.rows for each in served.passes for member in each.members if member.request == 1)
    assert rows == 2 + (1 if sharing else 40)
    assert served.text(1) == alone(requests[1])


def test_a_retry_comes_also_after_an_answer_that_was_over_before_it_was_cancelled() -> None:
    requests = [Tokenized(prompt(9), 3, 0, None, cancel_tokens=5), Tokenized(prompt(9), 3, 0, None, retry_of=0)]
    served = serve(tiny_engine(), requests, CONTINUOUS)
    assert not served.events("cancelled")
    assert served.text(0) == served.text(1) == alone(requests[0])


def test_the_blocks_of_who_was_cancelled_go_to_who_needs_them() -> None:
    requests = [Tokenized(prompt(40), 20, 0, None, cancel_tokens=2), Tokenized(prompt(40, 1), 20, 0, None, retry_of=0)]
    served = serve(tiny_engine(), requests, ServingSettings(chunk=16, blocks=4))
    [evicted] = served.events("evicted")
    assert evicted.request == 0
    assert served.text(1) == alone(requests[1])


def test_others_are_in_the_same_passes_without_their_text() -> None:
    engine, ids = tiny_engine(), prompt(12, 7)
    engine.admit("somebody", ids, GREEDY, 6)
    served = serve(engine, [asked(prompt(9), new=4)], CONTINUOUS)
    first = served.passes[0]
    assert (first.others.requests, first.others.rows) == (1, 12)
    assert len(first.pool.others) == 1
    assert served.rounds[0].others == 4
    for record in advance_all(engine):
        served.note(record)
    assert served.others["somebody"] == greedy(shared_model(), ids, 6)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_guesses_are_checked_in_one_pass_and_the_text_stays_the_same(layers: int) -> None:
    requests = [asked(prompt(12), new=40), asked(prompt(9, 1), new=40)]
    drafting = ServingSettings(chunk=16, blocks=32, draft=Drafting(tokens=4, layers=layers))
    served = serve(tiny_engine(), requests, CONTINUOUS, drafting)
    assert served.texts(2) == served.texts(2, 1) == all_alone(requests)
    decodes = [member for each in served.of(1) for member in each.members if member.phase == "decode"]
    assert all(member.rows == 1 + member.guessed for member in decodes)
    assert any(member.more for member in decodes)
    assert not any(each.draft for each in served.of(0))
    whole, drafted = served.of(0)[0].weight_bytes, [(each, each.draft) for each in served.of(1) if each.draft]
    assert drafted
    assert all(each.draft for each in served.of(1) if any(member.guessed for member in each.members))
    for each, draft in drafted:
        assert 0 < draft.ms < each.ms
        assert draft.passes == (max(member.guessed for member in each.members) if layers else 0)
        read = draft.passes * whole
        assert draft.weight_bytes == read if layers == 2 else draft.weight_bytes < max(read, 1)
    if layers == 2:  # all there are: every guess is right
        assert all(len(member.more) == member.guessed for member in decodes)
        assert len(served.of(1)) < len(served.of(0)) / 3


def test_rows_that_do_not_stay_are_really_dropped_and_their_blocks_given_back() -> None:
    requests = [asked(prompt(50), new=30)]
    kept = (Kept(sinks=4, heavy=8, recent=12), Kept(sinks=4, heavy=0, recent=200))
    some, every = (ServingSettings(chunk=64, blocks=32, keep=keep) for keep in kept)
    served = serve(tiny_engine(), requests, CONTINUOUS, some, every)
    assert not served.events("evicted")
    last = served.of(1)[-2].requests[0]
    assert (last.positions, len(last.table)) == (24, 2)
    assert last.positions + last.dropped == served.of(0)[-2].requests[0].positions
    assert [member.first for each in served.of(1) for member in each.members] == [0, *range(50, 79)]
    assert served.text(0, 1)[0] == served.text(0)[0]
    assert served.text(0, 1) != served.text(0)
    assert served.text(0, 2) == served.text(0) == alone(requests[0])


def test_stopping_gives_everything_back() -> None:
    engine = tiny_engine()
    workload = Workload("w", engine, [asked(prompt(30), new=9), asked(prompt(5))], [CONTINUOUS], token, another_engine)
    workload.prepare()
    engine.advance()
    workload.record_passes(engine.passes)
    assert workload.stop() == schema.Close(reason="stopped", error=None, steps=0)
    assert workload.over
    assert engine.cache.free_blocks == engine.cache.blocks
    assert not engine.scheduler.promised
    assert not engine.busy


def test_a_workload_waits_for_nothing_but_its_next_request() -> None:
    now = [0.0]
    requests = [asked(prompt(3), arrives_ms=500), asked(prompt(3), arrives_ms=900)]
    workload = Workload("w", tiny_engine(), requests, [CONTINUOUS], token, another_engine, clock=lambda: now[0])
    assert workload.prepare() == []
    assert workload.until_next_s == pytest.approx(0.5)
    now[0] = 0.6
    workload.prepare()
    assert workload.until_next_s == pytest.approx(0.3)


def test_its_blocks_are_promised_to_it_so_that_others_cannot_take_them() -> None:
    engine = Engine(shared_model(), capacity=160)
    Workload("w", engine, [asked(prompt(3))], [ServingSettings(blocks=8)], token, another_engine)
    with pytest.raises(CacheFull):
        engine.admit("somebody", prompt(40), GREEDY, 20)
    with pytest.raises(CacheFull):
        Workload("another", engine, [asked(prompt(3))], [ServingSettings(blocks=8)], token, another_engine)


def test_a_failing_model_fails_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tiny_engine()
    monkeypatch.setattr(engine.runner, "run", Mock(side_effect=RuntimeError("broken")))
    served = serve(engine, [asked(prompt(3))], CONTINUOUS)
    assert (served.close.reason, served.close.error) == ("failed", "The model failed: broken")
    assert engine.cache.free_blocks == engine.cache.blocks


SCHEDULES = int(os.environ.get("KVSCOPE_SCHEDULES", "100"))
REQUESTS = st.lists(
    st.builds(
        lambda system, seed, length, new, arrives, cancel: asked(
            [*prompt(33, 5)[:system], *prompt(length, seed)],
            new,
            arrives,
            None if cancel is None else arrives + cancel,
        ),
        system=st.sampled_from([0, 16, 20, 33]),
        seed=st.integers(0, 3),
        length=st.integers(1, 40),
        new=st.integers(1, 24),
        arrives=st.integers(0, 30),
        cancel=st.sampled_from([None, None, 0, 3, 12]),
    ),
    min_size=1,
    max_size=7,
)


def with_budget(spare: int | None, **more: Any) -> ServingSettings:
    """With a budget of `spare` rows more than it needs at least, None for no budget."""
    without = ServingSettings(**more)
    least = without.at_once * (1 + without.most_guessed)
    return ServingSettings(**more, budget=None if spare is None else least + spare)


ROUNDS = st.builds(
    with_budget,
    spare=st.sampled_from([None, 0, 5, 40]),
    batching=st.sampled_from(["continuous", "static"]),
    at_once=st.integers(1, 6),
    chunk=st.sampled_from([1, 7, 16, 128]),
    sharing=st.booleans(),
    reserve=st.booleans(),
    blocks=st.integers(3, 24),
    draft=st.one_of(st.none(), st.builds(Drafting, tokens=st.integers(1, 6), layers=st.integers(0, 2))),
    contiguous=st.one_of(st.none(), st.builds(Contiguous, new_tokens=st.integers(1, 60))),
)
MEANWHILE = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(["run", "fork", "search", "stop", "look"]), st.integers(0, 3)),
    max_size=4,
)
"""What other people do: before which pass, what, and with which text."""


def check_texts(
    served: Served, requests: list[Tokenized], settings_: ServingSettings, number: int = 0, left: Set[int] = frozenset()
) -> None:
    """Of requests in a round: their own text, its beginning if they were cancelled or `left`, none if too long."""
    for place, request in enumerate(requests):
        text, wanted = served.text(place, number), alone(request)
        if most_blocks(request, settings_) > settings_.blocks:
            assert text == []
        elif request.cancel_ms is None and place not in left:
            assert text == wanted
        else:
            assert text == wanted[: len(text)]


def check_pool(engine: Engine) -> None:
    """All blocks are free once nothing is kept."""
    assert not engine.scheduler.promised
    forget_all(engine)
    assert engine.cache.free_blocks == engine.cache.blocks


class Somebody:
    """Other people's runs in the same engine."""

    def __init__(self, engine: Engine, does: list[tuple[int, str, int]]):
        self.engine, self.does = engine, does
        self.prompts: dict[str, list[int]] = {}
        self.stopped: set[str] = set()
        self.numbers = count()

    def act(self, number: int) -> None:
        """What they do before that pass."""
        for at, what, seed in self.does:
            if at == number:
                with suppress(CacheFull):
                    self._do(what, f"{what}{next(self.numbers)}", prompt(21, seed))

    def _do(self, what: str, key: str, ids: list[int]) -> None:
        if what == "run":
            self.engine.admit(key, ids, GREEDY, 20)
            self.prompts[key] = ids
        elif what == "fork":
            self.engine.fork(key, ids, 15, GREEDY, 12)
            self.prompts[key] = ids
        elif what == "search":
            self.engine.search(key, ids, 3, 4)
        elif what == "look":
            with self.engine.replay(ids, 5):
                pass
        else:
            for active in list(self.engine.scheduler.runs):
                if active in self.prompts:
                    self.engine.stop(active)
                    self.stopped.add(active)


@settings(max_examples=SCHEDULES, deadline=None)
@given(requests=REQUESTS, rounds=st.lists(ROUNDS, min_size=1, max_size=2), does=MEANWHILE)
def test_whatever_the_schedule_every_text_is_its_own_and_the_pool_comes_back_empty(
    requests: list[Tokenized], rounds: list[ServingSettings], does: list[tuple[int, str, int]]
) -> None:
    engine = tiny_engine(reserve=64)
    somebody = Somebody(engine, does)
    served = serve(engine, requests, *rounds, before=somebody.act)
    for number, settings_ in enumerate(rounds):
        check_texts(served, requests, settings_, number)
    assert served.close == schema.Close(reason="length", error=None, steps=0)
    assert not engine.scheduler.promised
    for record in advance_all(engine):
        served.note(record)
    for key, ids in somebody.prompts.items():
        text = served.others[key]
        assert text == continuation(tuple(ids))[: len(text)]
        assert key in somebody.stopped or len(text) == (20 if key.startswith("run") else 6)
    check_pool(engine)


@settings(max_examples=SCHEDULES, deadline=None)
@given(
    requests=REQUESTS,
    settings_=ROUNDS,
    joins=st.lists(st.tuples(st.integers(1, 15), REQUESTS.map(lambda some: some[0])), max_size=4),
    leaves=st.lists(st.tuples(st.integers(1, 15), st.integers(0, 6)), max_size=3),
)
def test_whoever_joins_or_is_cancelled_meanwhile_every_text_is_its_own(
    requests: list[Tokenized],
    settings_: ServingSettings,
    joins: list[tuple[int, Tokenized]],
    leaves: list[tuple[int, int]],
) -> None:
    engine = tiny_engine(reserve=64)
    there, left = list(requests), set[int]()

    def meddle(number: int, workload: Workload) -> None:
        for _, newcomer in (join for join in joins if join[0] == number):
            with suppress(Refused):
                assert workload.join(newcomer, None) == len(there)
                there.append(newcomer)
        for _, request in (leave for leave in leaves if leave[0] == number):
            with suppress(Refused):
                workload.leave(request)
                left.add(request)

    served = serve(engine, requests, settings_, meddle=meddle)
    check_texts(served, there, settings_, left=left)
    check_pool(engine)
