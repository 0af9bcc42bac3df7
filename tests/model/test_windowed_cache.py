"""Layers with a window hold the newest rows only, and nothing that is computed differs by that."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import BeamsRecord, StepRecord
from kvscope.model.kv_cache import CacheFull, KVCache, Sequence
from kvscope.model.settings import Drafting
from kvscope.model.windowed_cache import WindowedCache
from tests.support.allocator import Allocator, values, write
from tests.support.tiny import GREEDY, advance_all, answer, check_cache, prompt, shared_model, tiny_config, tokens

WINDOWED = ("mistral", "gemma2", "gemma3_text")
GEMMA = tiny_config("gemma3_text")
"""Layer 0 has a window of 9, layer 1 has none."""


def plain(arch: str, **options: Any) -> Engine:
    """An engine whose layers all hold everything; masks hide what is out of the window."""
    model = shared_model(arch)
    return Engine(model, cache=KVCache(model.config, 64), capacity=1024, **options)


def windowed(arch: str, **options: Any) -> Engine:
    engine = Engine(shared_model(arch), capacity=1024, **options)
    assert isinstance(engine.cache, WindowedCache)
    return engine


def test_a_layer_with_a_window_lets_go_of_blocks_that_no_query_sees_any_more() -> None:
    cache, sequence = WindowedCache(GEMMA, 8), Sequence()
    for position in range(64):
        write(cache, cache.extend(sequence, 1), position + 1)
        first = max(0, position + 1 - 9) // 16 * 16
        assert cache.windowed(sequence) == (position + 1 - first, -(-(position + 1) // 16) - first // 16)
        assert values(cache, sequence, 1) == list(range(1, position + 2))
        assert values(cache, sequence, 0) == [0.0] * first + list(range(first + 1, position + 2))
        held = sum(count > 0 for count in cache.near_refcounts)
        assert held == cache.windowed(sequence)[1]
    cache.release(sequence)
    assert cache.near_refcounts == [0] * 8
    assert cache.windowed(sequence) == (0, 0)


def test_bytes_of_each_layer_are_those_of_the_positions_that_it_holds() -> None:
    cache, sequence = WindowedCache(GEMMA, 8), Sequence()
    cache.extend(sequence, 40)
    each = 2 * GEMMA.kv_heads * GEMMA.head_dim * 4
    assert cache.position_bytes == 2 * each
    assert (cache.bytes_used(sequence), cache.bytes_reserved(sequence)) == (80 * each, 96 * each)
    cache.extend(sequence, 1)  # the query at 40 sees from 32 on
    assert (cache.bytes_used(sequence), cache.bytes_reserved(sequence)) == ((41 + 9) * each, (48 + 16) * each)


def test_what_a_layer_has_let_go_of_cannot_be_shared_or_gone_back_to() -> None:
    cache, sequence = WindowedCache(GEMMA, 8), Sequence()
    for _ in range(60):
        cache.extend(sequence, 1)
    assert [length for length in range(61) if cache.can_fork(sequence, length)] == list(range(56, 61))
    for act in (cache.fork, cache.truncate):
        with pytest.raises(ValueError, match="no longer hold"):
            act(sequence, 55)
    assert sequence.length == 60
    child = cache.fork(sequence, 56)
    cache.release(sequence)
    assert cache.windowed(child) == (8, 1)


def test_rows_that_cannot_be_selected_for_want_of_blocks_change_nothing() -> None:
    cache, sequence = WindowedCache(GEMMA, 5), Sequence()
    cache.extend(sequence, 41)
    child = cache.fork(sequence, 41)
    cache.extend(child, 9)  # the shared block that it writes to, and another
    before = repr(child), list(cache.near_refcounts)
    with pytest.raises(CacheFull):
        cache.select(child, torch.arange(32, 50))
    assert (repr(child), cache.near_refcounts) == before


def test_selected_rows_cannot_be_gone_back_to_without_those_that_were_dropped() -> None:
    cache, sequence = WindowedCache(GEMMA, 8), Sequence()
    cache.extend(sequence, 25)
    cache.select(sequence, torch.arange(25))  # the query at 24 reads from block 1 on
    assert [length for length in range(26) if cache.can_fork(sequence, length)] == [25]
    cache.extend(sequence, 3)
    cache.select(sequence, torch.arange(20, 28))
    assert [length for length in range(9) if cache.can_fork(sequence, length)] == [8]
    cache.release(sequence)
    assert sequence.selected == 0


class WindowedAllocator(Allocator):
    """With a layer of both kinds, and rows that are dropped."""

    def new_cache(self) -> WindowedCache:
        cache = WindowedCache(GEMMA, 6)
        cache.near[:, :, :, 16:] = torch.nan
        return cache

    def state(self, sequence: Sequence) -> tuple[Any, ...]:
        return *super().state(sequence), list(self.cache.near_refcounts), sequence.near_from

    @rule(sequence=Allocator.sequences, share=st.floats(0.1, 1))
    def select(self, sequence: Sequence, share: float) -> None:
        count = int(share * len(self.expected[sequence]))
        if 0 < count <= sequence.length - sequence.near_from * 16:
            with suppress(CacheFull):
                self.cache.select(sequence, torch.arange(sequence.length - count, sequence.length))
                self.expected[sequence] = self.expected[sequence][-count:]

    @Allocator.is_there
    @invariant()
    def a_layer_with_a_window_reads_what_its_next_query_sees(self) -> None:
        for sequence, expected in self.expected.items():
            seen = max(0, len(expected) - 8)
            assert values(self.cache, sequence, 0)[seen:] == expected[seen:]

    @Allocator.is_there
    @invariant()
    def every_place_is_taken_once(self) -> None:
        cache = self.cache
        held = [block for sequence in self.expected for block in sequence.table[sequence.near_from :]]
        assert cache.near_refcounts == [held.count(block) for block in range(cache.blocks)]
        places = [place for place in cache._place_of if place]
        assert len(places) == len(set(places)) == len(set(held))
        assert sorted([*places, *cache._free_places]) == list(range(1, cache.blocks + 1))
        assert (cache._places == torch.arange(16) + 16 * torch.tensor(cache._place_of)[:, None]).all()


TestAllocator = WindowedAllocator.TestCase
TestAllocator.settings = settings(max_examples=25, stateful_step_count=25)


@pytest.mark.parametrize("arch", WINDOWED)
class TestRuns:
    def test_bytes_equal_the_formula_at_every_step(self, arch: str) -> None:
        engine, each = windowed(arch, prefill_chunk=16), 2 * 2 * shared_model(arch).config.head_dim * 4
        windows = shared_model(arch).config.windows
        engine.admit("a", prompt(40), GREEDY, 30)
        for record in advance_all(engine):
            if not isinstance(record, StepRecord):
                continue
            n = record.kv.positions
            newest = 32 if record.step == 0 else n - 1  # where its last pass begins
            held = [n if window is None else n - max(0, newest + 1 - window) // 16 * 16 for window in windows]
            assert record.kv.bytes_used == each * sum(held)
            assert record.kv.windowed[0] == min(held)

    def test_a_run_shares_a_beginning_only_where_all_layers_hold_it(self, arch: str) -> None:
        engine, expected = windowed(arch), plain(arch)
        ids = prompt(60)
        for each in (engine, expected):
            each.admit("a", ids, GREEDY, 20)
            advance_all(each)
        assert engine.scheduler.unread(ids[:20], 0, ("a",)) == (19, "window")
        last = answer(expected, ids[:20], 8, key="again")
        assert engine.admit("again", ids[:20], GREEDY, 8, among=("a",)).reused == 0
        assert tokens(advance_all(engine), "again") == last
        whole = engine.scheduler.kept["a"].ids
        assert engine.admit("more", [*whole, 5], GREEDY, 8, among=("a",)).reused == len(whole)
        assert tokens(advance_all(engine), "more") == answer(expected, [*whole, 5], 8, key="more")
        check_cache(engine)

    @pytest.mark.parametrize("at", [61, 70, 79])
    def test_a_branch_from_any_step_goes_on_as_its_parent(self, arch: str, at: int) -> None:
        engine, ids = windowed(arch), prompt(60)
        text = [*ids, *answer(engine, ids, 20)]
        engine.fork("b", text[:at], 60, GREEDY, 20)
        assert tokens(advance_all(engine), "b") == text[at:]
        check_cache(engine)

    def test_a_run_that_lost_its_blocks_goes_on_as_before(self, arch: str) -> None:
        engine, ids = windowed(arch), prompt(60)
        expected = answer(plain(arch), ids, 30)
        run = engine.admit("a", ids, GREEDY, 30)
        records = [record for _ in range(12) for record in engine.advance()]
        run.paused = True
        engine.preempt("a")
        assert run.sequence.near_from == 0
        engine.resume("a")
        assert tokens(records + advance_all(engine), "a") == expected
        check_cache(engine)

    def test_hypotheses_find_the_same_and_bytes_are_what_is_held(self, arch: str) -> None:
        found = []
        for engine in (plain(arch), windowed(arch)):
            engine.search("s", prompt(50), 4, 12)
            found.append([record for record in advance_all(engine) if isinstance(record, BeamsRecord)])
        assert [[node.token for node in each.nodes] for each in found[0]] == [
            [node.token for node in each.nodes] for each in found[1]
        ]
        assert found[0][-1].kv.blocks == found[1][-1].kv.blocks
        assert found[0][-1].kv.bytes_used > found[1][-1].kv.bytes_used > 0

    def test_any_row_can_be_looked_at_again(self, arch: str) -> None:
        engine, ids = windowed(arch), prompt(90)
        engine.admit("a", ids[:80], GREEDY, 3)
        advance_all(engine)
        for first in (0, 30, 79):
            weights: list[list[Tensor]] = []
            for each in (engine, plain(arch)):
                seen: list[Tensor] = []
                with each.replay(ids, first, {"blocks.0.attn.weights": seen.append}):
                    pass
                weights.append(seen)
            torch.testing.assert_close(weights[0], weights[1], atol=1e-5, rtol=1e-4)
        check_cache(engine)


def test_blocks_that_are_moved_away_keep_their_rows() -> None:
    cache, sequence = WindowedCache(GEMMA, 6), Sequence()
    for position in range(40):
        write(cache, cache.extend(sequence, 1), position + 1)
    expected = [values(cache, sequence, layer) for layer in (0, 1)]
    cache.set_apart(range(3))
    sequence.table[:] = [cache.move(block) if block < 3 else block for block in sequence.table]
    assert [values(cache, sequence, layer) for layer in (0, 1)] == expected
    reserved = cache.reserve(range(3))
    write(cache, cache.extend(reserved, 40), 7)
    assert values(cache, reserved, 0) == [7.0] * 40
    cache.release(reserved)
    cache.release(sequence)
    assert cache.near_refcounts == [0] * 6


@pytest.mark.parametrize("apart", [False, True])
def test_rows_that_stay_are_moved_together_in_both_pools(apart: bool) -> None:
    cache, sequence = WindowedCache(GEMMA, 6), Sequence()
    write(cache, cache.extend(sequence, 20), 1)
    for position in range(20, 40):
        write(cache, cache.extend(sequence, 1), position)
    stay = torch.tensor([0, 30, 35, 39])
    cache.select(sequence, stay.expand(GEMMA.layers, GEMMA.kv_heads, -1) if apart else stay)
    assert values(cache, sequence, 1) == [1, 30, 35, 39]
    assert values(cache, sequence, 0) == [0, 30, 35, 39]  # it held the rows from 16 on
    write(cache, cache.extend(sequence, 1), 40)
    assert values(cache, sequence, 0) == [0, 30, 35, 39, 40]


@pytest.mark.parametrize("layers", [0, 1])
def test_guesses_that_were_wrong_are_taken_back(layers: int) -> None:
    engine, ids = windowed("gemma3_text"), prompt(8, 3) * 8
    expected = answer(plain("gemma3_text"), ids, 30)
    engine.admit("a", ids, GREEDY, 30, recorded="tokens", draft=Drafting(tokens=12, layers=layers))
    assert [record.token for record in advance_all(engine) if hasattr(record, "token")] == expected
