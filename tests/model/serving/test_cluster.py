"""Rounds on several engines: who serves a request, what moves between engines, and that no text depends on it."""

from __future__ import annotations

import os
import random
from itertools import pairwise

import pytest
from pydantic import ValidationError

from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.serving.request import Tokenized
from kvscope.model.settings import Ask, Engines, ServingSettings, Workload
from tests.support.served import Served, all_alone, asked, serve, tiny_engine
from tests.support.tiny import prompt, shared_model

SCHEDULES = int(os.environ.get("KVSCOPE_CLUSTERS", "4"))
ON_BLOCKS = ServingSettings(at_once=4, chunk=16, blocks=32, prefix="blocks")


def on(count: int, **options: object) -> ServingSettings:
    return ON_BLOCKS.model_copy(update={"engines": Engines(count=count, **options)})  # type: ignore[arg-type]


def served_by(served: Served, number: int = 0) -> dict[int, set[int]]:
    """The engines that computed rows of each request."""
    found: dict[int, set[int]] = {}
    for each in served.of(number):
        for member in each.members:
            assert each.engine is not None
            found.setdefault(member.request, set()).add(each.engine)
    return found


def rows_computed(served: Served, number: int = 0) -> int:
    return sum(member.rows for each in served.of(number) for member in each.members)


def test_requests_go_to_the_engines_in_turn_and_each_engine_has_a_clock_of_its_own() -> None:
    requests = [asked(prompt(20, seed), new=6) for seed in range(4)]
    served = serve(tiny_engine(), requests, on(1), on(2))
    assert served_by(served, 1) == {0: {0}, 1: {1}, 2: {0}, 3: {1}}
    assert served.texts(4) == served.texts(4, 1) == all_alone(requests)
    for place in (0, 1):
        own = [each for each in served.of(1) if each.engine == place]
        assert all(one.start_ms + one.ms <= other.start_ms + 0.01 for one, other in pairwise(own))
    # Both begin at once: their passes overlap in time, although they are computed one after the other.
    assert [each.start_ms for each in served.of(1)[:2]] == [0, 0]


def test_an_idle_engine_waits_for_no_time_of_day() -> None:
    requests = [asked(prompt(5, seed), new=2, arrives_ms=3_600_000 * seed) for seed in range(3)]
    served = serve(tiny_engine(), requests, on(2))
    assert served.texts(3) == all_alone(requests)
    assert [event.ms for event in served.events("arrived")] == [0, 3_600_000, 7_200_000]
    assert served.rounds[0].ms > 7_200_000


def test_the_router_chooses_the_engine_with_the_fewest_requests_or_with_the_most_of_the_prompt() -> None:
    one, other = prompt(40, 1), prompt(40, 2)
    starts = [one, other, other, one, one]
    requests = [asked([*each, 7 + at], new=2, arrives_ms=1000 * at) for at, each in enumerate(starts)]
    served = serve(tiny_engine(), requests, on(2), on(2, route="prefix"), on(2, route="least"))
    assert served_by(served, 0) == {0: {0}, 1: {1}, 2: {0}, 3: {1}, 4: {0}}
    assert served_by(served, 1) == served_by(served, 2) == {at: {0} for at in range(5)}, "each ends before the next"
    assert rows_computed(served, 1) < rows_computed(served, 0)
    together = [asked(each.ids, new=2) for each in requests]
    assert served_by(serve(tiny_engine(), together, on(2, route="least"))) == {0: {0}, 1: {1}, 2: {0}, 3: {1}, 4: {0}}


def test_by_prefix_a_request_follows_its_beginning_unless_that_is_less_than_half_of_it() -> None:
    one, other = prompt(40, 1), prompt(40, 2)
    # The first two arrive together, so each engine reads one of them.
    asks = [(one, 0), (other, 0), (other, 5000), (one, 5000), (one, 10_000), (one[:17] + prompt(30, 3), 10_001)]
    requests = [asked([*each, 7 + at], new=8, arrives_ms=arrives) for at, (each, arrives) in enumerate(asks)]
    by_engine = served_by(serve(tiny_engine(), requests, on(2, route="prefix")))
    assert by_engine[0] != by_engine[1]
    assert by_engine[2] == by_engine[1]
    assert by_engine[3] == by_engine[4] == by_engine[0]
    assert by_engine[5] == by_engine[1], "a third of it is on the busy engine"


def test_a_prompt_that_one_engine_read_is_decoded_by_another_which_gets_its_full_blocks() -> None:
    requests = [asked(prompt(40, seed), new=6, arrives_ms=5 * seed) for seed in range(3)]
    requests.append(asked(prompt(9, 9), new=1))
    served = serve(tiny_engine(), requests, on(2, prefill=1))
    assert served_by(served) == {0: {0, 1}, 1: {0, 1}, 2: {0, 1}, 3: {0}}, "one token needs no decoding"
    assert served.texts(4) == all_alone(requests)
    model = shared_model().config
    block = 2 * model.layers * model.kv_heads * model.head_dim * 4 * BLOCK_SIZE
    moved = served.events("moved")
    # The order follows the time of each copy, which is measured.
    assert sorted((each.request, each.count, each.bytes) for each in moved) == [(at, 2, 2 * block) for at in range(3)]
    assert all(each.took_ms is not None for each in moved)
    again = [each for done in served.passes if done.engine == 1 for each in done.members if each.phase == "prefill"]
    assert [(member.first, member.rows) for member in again] == [(32, 9)] * 3, "only the unfilled block"
    for what in ("arrived", "first", "done"):
        assert sorted(event.request for event in served.events(what)) == [0, 1, 2, 3]


def test_blocks_that_the_other_engine_has_are_not_moved_again() -> None:
    requests = [asked([*prompt(33, 1), 5 + at], new=3, arrives_ms=1000 * at) for at in range(2)]
    served = serve(tiny_engine(), requests, on(2, prefill=1))
    assert [each.count for each in served.events("moved")] == [2, 0]
    assert served.texts(2) == all_alone(requests)


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_no_text_depends_on_the_engines_the_router_or_the_memory(seed: int) -> None:
    chance = random.Random(seed)
    requests = [
        asked(
            [*prompt(chance.randint(1, 50), chance.randint(0, 3)), chance.randint(3, 90)],
            new=chance.randint(1, 12),
            arrives_ms=chance.choice((0, 0, chance.randint(0, 40))),
        )
        for _ in range(chance.randint(2, 9))
    ]
    count, staged = chance.randint(1, 4), chance.random() < 0.2
    settings = ServingSettings(
        at_once=chance.randint(1, 4),
        chunk=chance.choice((3, 16, 64)),
        budget=chance.choice((None, 16)),
        blocks=chance.randint(5, 12),
        prefix="blocks",
        engines=Engines(
            count=count,
            route=chance.choice(("turns", "least", "prefix")),
            prefill=0 if staged else chance.randint(0, count - 1),
            stages=2 if staged else 1,
        ),
    )
    served = serve(tiny_engine(), requests, settings)
    assert served.texts(len(requests)) == all_alone(requests), settings


def test_with_two_stages_rows_move_after_half_of_the_layers_and_batches_take_turns() -> None:
    requests = [asked(prompt(20, seed), new=6) for seed in range(4)]
    served = serve(tiny_engine(), requests, on(1), on(1, stages=2), on(2, stages=2))
    assert all(served.texts(4, number) == all_alone(requests) for number in range(3))
    config = shared_model().config
    for each in served.passes:
        if each.round == 0:
            assert each.stages is None
            continue
        assert each.stages is not None
        first, second = each.stages
        assert (first.bytes, second.bytes) == (0, sum(member.rows for member in each.members) * config.d * 4)
        assert first.start_ms + first.ms + second.took_ms <= second.start_ms + 0.01
        assert (each.start_ms, each.ms) == pytest.approx(
            (first.start_ms, second.start_ms + second.ms - first.start_ms), abs=0.01
        )
    for number in (1, 2):
        for stage in (0, 1):
            own = sorted((each.stages or [])[stage].start_ms for each in served.of(number))
            ends = sorted(
                (each.stages or [])[stage].start_ms + (each.stages or [])[stage].ms for each in served.of(number)
            )
            assert all(end <= start + 0.01 for end, start in zip(ends, own[1:], strict=False)), "one pass at a time"
    one, two = ([each.stages or [] for each in served.of(number)] for number in (1, 2))
    assert all(end.start_ms + end.ms <= start.start_ms + 0.01 for (_, end), (start, _) in pairwise(one))
    assert any(start.start_ms < end.start_ms + end.ms - 0.01 for (_, end), (start, _) in pairwise(two)), "side by side"


@pytest.mark.parametrize("tier", ["memory", "file"])
def test_evicted_blocks_are_copied_back_instead_of_computed_again(tier: str) -> None:
    prompts = [prompt(50, seed) for seed in range(3)]
    requests = [asked(prompts[at % 3], new=3, arrives_ms=100 * at) for at in range(6)]
    few = ServingSettings(at_once=1, chunk=64, blocks=5, prefix="blocks")
    served = serve(tiny_engine(), requests, few, few.model_copy(update={"tier": tier}), step_ms=50)
    assert served.texts(6) == served.texts(6, 1) == all_alone(requests)
    fetched = served.events("fetched")
    assert [each.request for each in fetched] == [3, 4, 5]
    assert rows_computed(served, 0) - rows_computed(served, 1) == BLOCK_SIZE * sum(each.count or 0 for each in fetched)
    model = shared_model().config
    block = 2 * model.layers * model.kv_heads * model.head_dim * 4 * BLOCK_SIZE
    assert all(each.bytes == (each.count or 0) * block for each in (*fetched, *served.events("stored")))
    # Rows that were copied back are not counted as found.
    assert all(event.count is not None and event.count >= 0 for event in served.events("shared"))


def test_a_file_that_cannot_be_written_ends_the_workload_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    requests = [asked(prompt(50, seed % 3), new=3) for seed in range(4)]
    few = ServingSettings(at_once=1, chunk=64, blocks=5, prefix="blocks", tier="file")
    served = serve(tiny_engine(), requests, few)
    assert served.close is not None
    assert served.close.reason == "failed"
    assert "No space left on device" in (served.close.error or "")
    assert served.passes, "what was computed until then stays"


def test_settings_that_do_not_go_together_are_refused() -> None:
    one = Engines(count=1)
    with pytest.raises(ValidationError, match="engines"):
        ServingSettings(engines=one)
    with pytest.raises(ValidationError, match="tier"):
        ServingSettings(tier="memory")
    with pytest.raises(ValidationError, match="prefill"):
        Engines(count=2, prefill=2)
    with pytest.raises(ValidationError, match="prefill"):
        Engines(count=2, prefill=1, stages=2)
    cancelled = Ask(prompt="a", cancel_ms=5)
    with pytest.raises(ValidationError, match="requests"):
        Workload(requests=[cancelled], rounds=[ON_BLOCKS.model_copy(update={"engines": one})])


def test_a_request_too_large_for_every_engine_is_refused_and_the_others_are_served() -> None:
    requests: list[Tokenized] = [asked(prompt(100, 1), new=4), asked(prompt(9, 2), new=4)]
    served = serve(tiny_engine(), requests, on(2, prefill=1).model_copy(update={"blocks": 4}))
    assert [event.request for event in served.events("refused")] == [0]
    assert served.text(1) == all_alone(requests)[1]
