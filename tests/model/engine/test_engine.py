from __future__ import annotations

import math
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import Tensor

from kvscope.model.companding import decompand
from kvscope.model.engine import step as step_module
from kvscope.model.engine.capture import Capture
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, StepRecord
from kvscope.model.engine.sampling import choose
from kvscope.model.hooks import hook_points, observing
from kvscope.model.transformer import Batch
from tests.support.tiny import (
    ARCHS,
    GREEDY,
    SAMPLED,
    advance_all,
    answer,
    check_cache,
    closes,
    furthest,
    greedy,
    prompt,
    rows,
    shared_model,
    steps,
    steps_of,
    tiny_engine,
    tiny_model,
    tokens,
    whole_logits,
)


@pytest.mark.parametrize("arch", ARCHS)
def test_tokens_equal_those_of_passes_over_the_whole_text(arch: str) -> None:
    made = tiny_engine(arch)
    assert answer(made, prompt(23), 20) == greedy(shared_model(arch), prompt(23), 20)
    check_cache(made)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("chunk", [1, 7, 16, 128])
def test_prefill_in_chunks_gives_the_logits_and_attention_of_one_whole_pass(arch: str, chunk: int) -> None:
    ids = prompt(37)
    seen: list[Tensor] = []
    whole = shared_model(arch)
    with observing(hook_points(whole), {f"blocks.{layer}.attn.weights": seen.append for layer in range(2)}):
        expected = whole_logits(whole, ids)[-1]
    exact = torch.stack([weights[0].flatten(0, 1) for weights in seen]).numpy()

    made = tiny_engine(arch, prefill_chunk=chunk)
    made.admit("a", ids, GREEDY, 1)
    records = advance_all(made)
    (step,) = steps(records, "a")
    assert furthest(step, expected) < 1e-4

    parts = [record.rows for record in rows(records, "a")]
    assert [part.first_query for part in parts] == list(range(0, 37, chunk))
    for part in parts:
        queries, keys = part.attention.shape[2:]
        assert keys == part.first_query + queries
        there = exact[:, :, part.first_query : keys, :keys]
        assert np.abs(decompand(part.attention) - there).max() < 0.004


def test_a_layers_time_is_that_of_all_chunks_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = iter([(1.0, 10.0), (2.0, 20.0), (4.0, 40.0), (8.0, 80.0)])
    monkeypatch.setattr(Capture, "layer_ms", property(lambda _: next(passes)))
    taken = steps_of(tiny_engine(prefill_chunk=16), prompt(40), 2)
    assert [step.timing.layers for step in taken] == [(7.0, 70.0), (8.0, 80.0)]


def test_a_gpus_layers_are_not_timed_by_the_hosts_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tiny_engine()
    monkeypatch.setattr(Batch, "to", lambda self, device: self)
    monkeypatch.setattr(made.runner, "_synchronize", lambda: None)
    made.runner.device = "cuda:0"
    assert [step.timing.layers for step in steps_of(made, prompt(4), 2)] == [None, None]


def test_a_step_says_its_phase_position_times_and_cost() -> None:
    first, second = taken = steps_of(tiny_engine(prefill_chunk=16), prompt(40), 2)
    assert [(each.phase, each.position, len(each.timing.chunks)) for each in taken] == [
        ("prefill", 39, 3),
        ("decode", 40, 1),
    ]
    for step in taken:
        timing = step.timing
        assert timing.forward == sum(timing.chunks) > 0
        assert timing.total == pytest.approx(timing.forward + timing.capture + timing.sample)
        assert len(timing.layers) == 2
        assert all(ms > 0 for ms in timing.layers)
        assert sum(timing.layers) < timing.forward
    # Each chunk reads the weights again, so prefill reads nearly three times as much as one decode step.
    assert 2.5 < first.cost.bytes_read / second.cost.bytes_read < 3.5
    assert first.cost.flops > 10 * second.cost.flops


@pytest.mark.parametrize("arch", ARCHS)
def test_cache_bytes_equal_the_formula_at_every_step(arch: str) -> None:
    made = tiny_engine(arch)
    config = made.transformer.config
    run = made.admit("a", prompt(14), GREEDY, 22)
    seen = []
    while made.busy:
        for record in made.advance():
            if not isinstance(record, StepRecord):
                continue
            kv, slots = record.kv, made.cache.slots(run.sequence)
            tensors = [part for layer in range(config.layers) for part in made.cache.read(layer, slots)]
            formula = 2 * config.layers * config.kv_heads * config.head_dim * kv.positions * 4
            assert formula == sum(part.nbytes for part in tensors)
            if config.window is None:
                reserved = len(kv.paged.block_table) * 16 * formula // kv.positions
                assert (kv.windowed, kv.bytes_used, kv.paged.bytes_reserved) == (None, formula, reserved)
            seen.append((kv.positions, kv.bytes_written * kv.positions // formula))
    assert seen == [(14, 14), *((position, 1) for position in range(15, 36))]


def test_one_run_and_eight_together_choose_the_same_tokens() -> None:
    lengths = (1, 2, 15, 16, 17, 40, 40, 90)
    for sampling in (GREEDY, SAMPLED):
        prompts = {str(index): prompt(length, index) for index, length in enumerate(lengths)}
        alone = {key: answer(tiny_engine(prefill_chunk=32), ids, 12, sampling) for key, ids in prompts.items()}
        made = tiny_engine(prefill_chunk=32)
        for key, ids in prompts.items():
            made.admit(key, ids, sampling, 12)
        records = advance_all(made)
        assert {key: tokens(records, key) for key in alone} == alone
        assert max(step.batch for step in steps(records, "0")) == 8
        check_cache(made)


def test_a_runs_cost_is_its_own_whoever_shares_the_pass() -> None:
    alone, shared = tiny_engine(prefill_chunk=32), tiny_engine(prefill_chunk=32)
    for index in range(3):
        shared.admit(str(index), prompt(5 + index, index), GREEDY, 4)
    taken, expected = (steps_of(made, prompt(40), 4) for made in (shared, alone))
    assert [(step.cost, step.position) for step in taken] == [(step.cost, step.position) for step in expected]


def test_the_shortest_runs() -> None:
    made = tiny_engine()
    made.admit("one", [7], GREEDY, 1)
    made.admit("two", [7], GREEDY, 2)
    records = advance_all(made)
    expected = greedy(made.transformer, [7], 2)
    assert (tokens(records, "one"), tokens(records, "two")) == (expected[:1], expected)
    assert closes(records) == {key: CloseRecord(key, "length", None, count) for key, count in (("one", 1), ("two", 2))}
    (step,) = steps(records, "one")
    assert (step.phase, step.position, step.kv.positions) == ("prefill", 0, 1)


def test_an_end_token_ends_the_run_after_its_step() -> None:
    expected = greedy(shared_model(), prompt(9), 6)
    end = next(token for place, token in enumerate(expected) if place >= 2 and token not in expected[:place])
    count = expected.index(end) + 1
    made = tiny_engine(eos=[end])
    made.admit("a", prompt(9), GREEDY, 6)
    records = advance_all(made)
    assert tokens(records, "a") == expected[:count]
    assert records[-1] == CloseRecord("a", "eos", None, count)
    assert not made.scheduler.runs


def test_an_unobserved_run_chooses_the_same_and_records_its_end_only() -> None:
    made = tiny_engine()
    quiet = made.admit("quiet", prompt(20), GREEDY, 5, recorded="end")
    made.admit("seen", prompt(21, 1), GREEDY, 5)
    records = advance_all(made)
    assert [record for record in records if record.run == "quiet"] == [CloseRecord("quiet", "length", None, 5)]
    assert quiet.ids == prompt(20) + greedy(made.transformer, prompt(20), 5)
    assert len(rows(records, "seen")) == len(steps(records, "seen")) == 5


class TestControl:
    def test_a_paused_run_stands_still_and_goes_on_where_it_was(self) -> None:
        made = tiny_engine()
        run = made.admit("a", prompt(20), GREEDY, 6)
        records = made.advance() + made.advance()
        run.paused = True
        assert not made.busy
        assert made.advance() == []
        other = made.admit("b", prompt(5, 1), GREEDY, 3)
        assert made.busy
        advance_all(made)
        assert (other.step, run.step) == (3, 2)
        run.paused = False
        assert tokens(records + advance_all(made), "a") == greedy(made.transformer, prompt(20), 6)

    def test_a_single_step_is_a_whole_step_even_of_a_chunked_prefill(self) -> None:
        made = tiny_engine(prefill_chunk=16)
        run = made.admit("a", prompt(40), GREEDY, 6)
        run.paused, run.single_steps = True, 1
        records = advance_all(made)
        assert (len(rows(records, "a")), len(steps(records, "a"))) == (3, 1)
        run.single_steps = 2
        assert len(steps(advance_all(made), "a")) == 2
        assert not made.busy

    def test_a_run_paused_in_the_middle_of_a_step_ends_it_and_can_then_give_way(self) -> None:
        made = tiny_engine(prefill_chunk=16)
        run = made.admit("a", prompt(40), GREEDY, 6)
        made.advance()
        run.paused = True
        assert not made.evict_run("a")
        assert len(steps(advance_all(made), "a")) == 1
        assert (made.busy, run.step) == (False, 1)
        assert made.evict_run("a")
        check_cache(made)

    def test_stop_in_the_middle_of_prefill_keeps_what_was_computed(self) -> None:
        made = tiny_engine(prefill_chunk=16)
        made.admit("a", prompt(40), GREEDY, 6)
        made.advance()
        assert made.stop("a") == CloseRecord("a", "stopped", None, 0)
        assert not made.busy
        check_cache(made)
        with made.replay(prompt(40), 16) as sequence:
            assert made.cache.refcounts[sequence.table[0]] == 2

    def test_a_key_may_come_again_once_its_run_is_over(self) -> None:
        made = tiny_engine()
        for seed in range(3):
            made.admit("a", prompt(20, seed), GREEDY, 3)
            with pytest.raises(ValueError, match="already active"):
                made.admit("a", [1], GREEDY, 1)
            assert tokens(advance_all(made), "a") == greedy(made.transformer, prompt(20, seed), 3)
        check_cache(made)

    def test_a_run_paused_before_its_first_pass_can_give_way(self) -> None:
        made = tiny_engine()
        text = prompt(20) + answer(made, prompt(20), 6)
        for run in (made.admit("new", prompt(40, 1), GREEDY, 6), made.fork("fork", text[:22], 20, GREEDY, 6)):
            run.paused = True
            assert made.evict_run(run.key), run.key
        check_cache(made)


class TestFailure:
    def test_not_a_number_ends_the_run_it_is_in_and_no_other(self) -> None:
        broken = tiny_model(tied=False)
        with torch.no_grad():
            broken.embed.weight[200] = math.nan
        made = Engine(broken, capacity=256)
        good = [token for token in prompt(30) if token != 200]
        made.admit("good", good, GREEDY, 8)
        made.admit("bad", [1, 200, 2], GREEDY, 8)
        records = made.advance()
        error = "step 0: the model's logits contain NaN or infinity"
        assert closes(records) == {"bad": CloseRecord("bad", "failed", error, 0)}
        assert not steps(records, "bad")
        assert not made.scheduler.kept
        check_cache(made)
        # Its blocks, which hold NaN, go to the next run.
        made.admit("next", good[::-1], GREEDY, 8)
        records += advance_all(made)
        assert tokens(records, "good") == greedy(broken, good, 8)
        assert tokens(records, "next") == greedy(broken, good[::-1], 8)

    def test_an_exception_in_the_pass_ends_the_runs_in_it_and_no_other(self) -> None:
        made = tiny_engine()
        paused = made.admit("paused", prompt(20), GREEDY, 6)
        records = made.advance()
        paused.paused = True
        made.admit("a", prompt(30, 1), GREEDY, 6)
        made.admit("b", prompt(3, 2), GREEDY, 6)
        with observing(made.runner.points, {"final": Mock(side_effect=IndexError("index out of range in self"))}):
            failed = made.advance()
        error = "The model failed: index out of range in self"
        assert failed == [CloseRecord("a", "failed", error, 0), CloseRecord("b", "failed", error, 0)]
        assert not made.scheduler.kept
        check_cache(made)
        paused.paused = False
        made.admit("a", prompt(30, 1), GREEDY, 6)
        records += advance_all(made)
        assert tokens(records, "paused") == greedy(made.transformer, prompt(20), 6)
        assert tokens(records, "a") == greedy(made.transformer, prompt(30, 1), 6)

    @pytest.mark.parametrize("steps_before", [0, 1, 3])
    def test_a_run_that_makes_every_pass_with_it_raise_fails_alone(self, steps_before: int) -> None:
        made = tiny_engine(prefill_chunk=16)
        for key, length in (("a", 30), ("b", 3)):
            made.admit(key, prompt(length, length), GREEDY, 8)
        records = [record for _ in range(steps_before) for record in made.advance()]
        made.admit("bad", [1, 2, 299, 4], GREEDY, 8)  # the tiny model's embedding has no such row
        records += advance_all(made)
        assert closes(records)["bad"].reason == "failed"
        for key, length in (("a", 30), ("b", 3)):
            assert tokens(records, key) == greedy(made.transformer, prompt(length, length), 8)
        check_cache(made)

    def test_an_exception_after_the_pass_ends_one_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = tiny_engine()
        made.admit("a", prompt(5, 1), GREEDY, 1)
        made.admit("b", prompt(5, 2), GREEDY, 3)
        choices = [choose(Distribution(torch.arange(259.0)), GREEDY, Mock()), MemoryError("no room for the choice")]
        monkeypatch.setattr(step_module, "choose", Mock(side_effect=choices))
        records = advance_all(made)
        assert {key: (each.reason, each.steps) for key, each in closes(records).items()} == {
            "a": ("length", 1),
            "b": ("failed", 0),
        }
        check_cache(made)
