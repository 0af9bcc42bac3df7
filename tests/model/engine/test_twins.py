"""Runs whose cache is dropped after every step: with all tokens fed again, and with nothing fed again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from kvscope.model.api import Caching
from kvscope.model.engine.cost import Cost
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import RowsRecord, StepRecord
from kvscope.model.kv_cache import KVCache
from kvscope.model.settings import Sampling
from kvscope.model.transformer import AttentionGroup, Batch, Transformer
from kvscope.model.weights import linears, weights_read
from tests.support.tiny import (
    ARCHS,
    GREEDY,
    SAMPLED,
    advance_all,
    answer,
    check_cache,
    furthest,
    greedy,
    prompt,
    steps,
    steps_of,
    tiny_engine,
    tokens,
    whole_logits,
)


def twin_of(
    made: Engine, ids: list[int], new: int, caching: Caching = "none", sampling: Sampling = GREEDY, **options: Any
) -> list[StepRecord]:
    return steps_of(made, ids, new, sampling, "twin", recorded="steps", caching=caching, **options)


def cost_of(made: Engine, rows: int, keys: int) -> Cost:
    return Cost.of_pass(made.transformer, rows, keys, weights_read(linears(made.transformer)))


def alone(model: Transformer, token: int, position: int) -> Tensor:
    """Logits [V] of one token that stands at `position` and sees nothing but itself."""
    zero = torch.zeros(1, dtype=torch.long)
    batch = Batch(
        torch.tensor([token]), torch.tensor([position]), zero, (AttentionGroup(0, 1, 1, (1,), zero, None),), zero
    )
    return model(batch, KVCache(model.config, 1))[0]


class TestWithoutACache:
    @pytest.mark.parametrize("arch", ARCHS)
    @pytest.mark.parametrize("sampling", [GREEDY, SAMPLED])
    def test_it_writes_what_the_run_with_a_cache_writes(self, arch: str, sampling: Sampling) -> None:
        made = tiny_engine(arch)
        run, twin = steps_of(made, prompt(20), 12, sampling), twin_of(made, prompt(20), 12, sampling=sampling)
        assert [step.choice.token for step in twin] == [step.choice.token for step in run]
        for mine, theirs in zip(twin, run, strict=True):
            logits, best = (
                dict(zip(each.candidates.ids.tolist(), each.candidates.logits.tolist(), strict=True))
                for each in (mine, theirs)
            )
            shared = logits.keys() & best.keys()
            assert len(shared) > 250
            assert max(abs(logits[token] - best[token]) for token in shared) < 1e-3
            assert (mine.phase, mine.position) == (theirs.phase, theirs.position)

    def test_every_step_feeds_all_tokens_and_counts_that_cost(self) -> None:
        made = tiny_engine(prefill_chunk=16)
        taken = twin_of(made, prompt(14), 5)
        assert [step.cost.rows for step in taken] == [step.kv.positions for step in taken] == [14, 15, 16, 17, 18]
        assert [len(step.timing.chunks) for step in taken] == [1, 1, 1, 2, 2]
        assert taken[2].cost == cost_of(made, 16, 16)
        assert taken[3].cost == cost_of(made, 16, 16) + cost_of(made, 1, 17)
        bytes_of = made.cache.position_bytes
        assert [step.kv.bytes_written for step in taken] == [rows * bytes_of for rows in (14, 15, 16, 17, 18)]
        assert [len(step.kv.paged.block_table) for step in taken] == [1, 1, 1, 2, 2]

    def test_nothing_of_it_stays_in_the_cache_between_steps_or_after(self) -> None:
        made = tiny_engine()
        made.admit("twin", prompt(20), GREEDY, 5, recorded="steps", caching="none")
        while made.busy:
            made.advance()
            assert made.cache.free_blocks == made.cache.blocks
        made.admit("stopped", prompt(40), GREEDY, 5, recorded="steps", caching="none")
        made.scheduler.prefill_chunk = 16
        made.advance()
        assert made.cache.free_blocks < made.cache.blocks
        made.stop("stopped")
        assert made.cache.free_blocks == made.cache.blocks

    def test_it_says_nothing_of_rows_and_costs_others_nothing_of_their_capture(self) -> None:
        made = tiny_engine()
        made.admit("twin", prompt(20), GREEDY, 4, recorded="steps", caching="none")
        made.admit("seen", prompt(21), GREEDY, 4)
        records = advance_all(made)
        assert {record.run for record in records if isinstance(record, RowsRecord)} == {"seen"}
        assert [step.timing.capture for step in steps(records, "twin")] == [0.0] * 4
        assert all(step.timing.capture > 0 for step in steps(records, "seen"))
        assert tokens(records, "seen") == greedy(made.transformer, prompt(21), 4)
        assert {step.batch for step in steps(records, "twin")} == {2}

    @pytest.mark.parametrize("sampling", [GREEDY, Sampling(strategy="sample", temperature=2.0, seed=4)])
    def test_a_token_that_a_fork_put_there_is_put_there_again(self, sampling: Sampling) -> None:
        made = tiny_engine()
        run = answer(made, prompt(20), 10, sampling)
        ids = [*prompt(20), *run[:3], (run[3] + 1) % 259]
        made.fork("fork", ids, 20, sampling, 10)
        expected = ids[20:] + tokens(advance_all(made), "fork")
        taken = twin_of(made, prompt(20), 10, sampling=sampling, forced={3: ids[23]})
        assert [step.choice.token for step in taken] == expected
        assert [step.forced for step in taken] == [False] * 3 + [True] + [False] * 6
        probs = whole_logits(made.transformer, ids[:23])[-1].double().softmax(-1)
        assert taken[3].choice.raw_prob == pytest.approx(float(probs[ids[23]]), rel=1e-3)
        assert taken[3].choice.prob == taken[3].choice.raw_prob


class TestForgetting:
    @pytest.mark.parametrize("arch", ARCHS)
    def test_each_token_sees_itself_alone_at_its_own_position(self, arch: str) -> None:
        made = tiny_engine(arch)
        taken = twin_of(made, prompt(20), 9, "forgotten")
        text = prompt(20) + greedy(made.transformer, prompt(20), 1)
        for step in taken[1:]:
            expected = alone(made.transformer, text[-1], len(text) - 1)
            assert furthest(step, expected) < 1e-4
            assert step.position == len(text) - 1
            text.append(int(expected.argmax()))
        assert [step.choice.token for step in taken] == text[20:]

    def test_a_step_is_the_work_of_one_row_that_reads_one_key(self) -> None:
        made = tiny_engine()
        taken = twin_of(made, prompt(20), 4, "forgotten")
        assert [step.cost.rows for step in taken] == [step.kv.positions for step in taken] == [20, 1, 1, 1]
        assert taken[2].cost == cost_of(made, 1, 1)
        assert taken[2].kv.bytes_written == made.cache.position_bytes
        assert made.cache.free_blocks == made.cache.blocks

    @pytest.mark.parametrize("stopped", [False, True])
    def test_nobody_shares_what_it_computed(self, stopped: bool) -> None:
        made = tiny_engine()
        twin = made.admit("twin", [7, *prompt(19)], GREEDY, 12, recorded="steps", caching="forgotten")
        for _ in range(3):
            made.advance()
        # Between feeding and dropping the twin holds one row that must not pass for the text's first.
        twin.sequence.length = 1
        twin.sequence.table = [made.cache._take()]
        if stopped:
            made.stop("twin")
        with made.replay(twin.ids, 19) as sequence:
            assert made.cache.refcounts[sequence.table[0]] == 1
            k, _ = made.cache.read(1, made.cache.slots(sequence))
        fresh = tiny_engine()
        with fresh.replay(twin.ids, 0) as sequence:
            expected, _ = fresh.cache.read(1, fresh.cache.slots(sequence))
        assert (k - expected).abs().max() < 1e-4
        check_cache(made)
