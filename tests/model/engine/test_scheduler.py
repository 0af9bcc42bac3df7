"""How runs share the cache: room for them, forks, and looking into them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import CacheFull
from tests.support.tiny import (
    GREEDY,
    SAMPLED,
    advance_all,
    answer,
    check_cache,
    closes,
    greedy,
    prompt,
    steps,
    tiny_engine,
    tokens,
    whole_logits,
)


class TestRoom:
    def test_a_full_cache_refuses_harms_nobody_and_works_again(self) -> None:
        made = tiny_engine(capacity=64)
        made.admit("a", prompt(20), GREEDY, 20)
        made.advance()
        with pytest.raises(CacheFull, match="may need 2 blocks, and 1 of 4 are not reserved"):
            made.admit("b", prompt(20, 1), GREEDY, 5)
        assert list(made.scheduler.runs) == ["a"]
        check_cache(made)
        advance_all(made)
        assert answer(made, prompt(20, 1), 5, key="b") == greedy(made.transformer, prompt(20, 1), 5)
        check_cache(made)

    def test_the_reserve_is_for_looking_into_running_runs(self) -> None:
        made = tiny_engine(capacity=96, reserve=48)
        with pytest.raises(CacheFull):
            made.admit("a", prompt(30), GREEDY, 20)
        made.admit("a", prompt(30), GREEDY, 19)
        while made.scheduler.runs["a"].step < 18:
            made.advance()
        with made.replay(made.scheduler.runs["a"].ids, 0) as sequence:
            assert sequence.length == 48
        assert closes(advance_all(made))["a"].reason == "length"

    def test_ended_runs_stay_until_room_is_needed_the_first_ended_goes_first(self) -> None:
        made = tiny_engine(capacity=96)
        for seed in range(3):
            answer(made, prompt(20, seed), 2, key=str(seed))
        assert (made.cache.free_blocks, list(made.scheduler.kept)) == (0, ["0", "1", "2"])
        answer(made, prompt(33, 9), 2, key="new")
        assert list(made.scheduler.kept) == ["2", "new"]
        check_cache(made)


class TestFork:
    @staticmethod
    def parent(made: Engine, count: int = 12) -> list[int]:
        made.admit("parent", prompt(20), GREEDY, count)
        return prompt(20) + greedy(made.transformer, prompt(20), count)

    def test_it_shares_blocks_with_its_parent_and_neither_changes_the_other(self) -> None:
        made = tiny_engine()
        text = self.parent(made)
        while made.scheduler.runs["parent"].step < 6:
            made.advance()
        parent = made.scheduler.runs["parent"]
        ids = [*text[:24], 99]
        child = made.fork("child", ids, 20, GREEDY, 12)
        assert child.sequence.table == parent.sequence.table
        assert [made.cache.refcounts[block] for block in child.sequence.table] == [2, 2]
        before = made.cache.read_all(made.cache.slots(child.sequence))
        records = advance_all(made)
        first = steps(records, "child")[0]
        assert (first.step, first.phase, first.position, first.kv.positions) == (5, "decode", 24, 25)
        assert first.kv.paged.refcounts == steps(records, "parent")[0].kv.paged.refcounts == (2, 1)
        mine, theirs = first.kv.paged.block_table, parent.sequence.table
        assert (mine[0] == theirs[0], mine[1] == theirs[1]) == (True, False)
        assert tokens(records, "parent") == text[26:]
        assert tokens(records, "child") == greedy(made.transformer, ids, 7)
        assert torch.equal(made.cache.read_all(made.cache.slots(child.sequence)[:24]), before)
        check_cache(made)

    @pytest.mark.parametrize("state", ["running", "paused", "finished", "stopped", "evicted"])
    def test_whatever_became_of_its_parent(self, state: str) -> None:
        made = tiny_engine(capacity=128)
        text = self.parent(made)
        for _ in range(8):
            made.advance()
        if state == "paused":
            made.scheduler.runs["parent"].paused = True
        elif state in ("finished", "evicted"):
            advance_all(made)
        elif state == "stopped":
            made.stop("parent")
        if state == "evicted":
            answer(made, prompt(120, 5), 8, key="wide")
            assert "parent" not in made.scheduler.kept
        ids = [*text[:23], 42]
        made.fork("child", ids, 20, GREEDY, 12)
        check_cache(made)
        shares = state != "evicted"
        assert (max(made.cache.refcounts) == 2) == shares
        assert tokens(advance_all(made), "child") == greedy(made.transformer, ids, 8)
        check_cache(made)

    def test_with_its_parents_own_token_it_draws_what_its_parent_drew(self) -> None:
        for count in (3, 20):
            made = tiny_engine()
            expected = answer(made, prompt(20), 30, SAMPLED)
            assert len(set(expected)) > 5
            made.fork("child", [*prompt(20), *expected[:count]], 20, SAMPLED, 30)
            assert tokens(advance_all(made), "child") == expected[count:]

    def test_one_that_is_refused_leaves_no_trace(self) -> None:
        made = tiny_engine(capacity=64)
        text = self.parent(made)
        made.advance()
        made.advance()
        for _ in range(2):
            with pytest.raises(CacheFull):
                made.fork("child", text[:21], 20, GREEDY, 40)
            for key, length, why in (("parent", 21, "already active"), ("child", 20, "generated")):
                with pytest.raises(ValueError, match=why):
                    made.fork(key, text[:length], 20, GREEDY, 12)
            check_cache(made)
        assert list(made.scheduler.runs) == ["parent"]
        assert max(made.cache.refcounts) == 1


class TestReplay:
    def test_it_computes_the_asked_rows_and_no_others(self) -> None:
        made, ids = tiny_engine(), prompt(40)
        seen: list[Tensor] = []
        with made.replay(ids, 33, {"final": seen.append, "blocks.1.resid_out": seen.append}) as sequence:
            assert sequence.length == 40
        assert seen[0].shape[0] == 7
        assert made.cache.free_blocks == made.cache.blocks
        logits = made.transformer.lm_head(seen[1])
        assert (logits - whole_logits(made.transformer, ids)[-1]).abs().max() < 1e-4

    def test_rows_a_run_holds_are_shared_and_the_run_goes_on_unchanged(self) -> None:
        made = tiny_engine(prefill_chunk=16)
        run = made.admit("a", prompt(40), GREEDY, 6)
        records = []
        for _ in range(5):
            records += made.advance()
            with made.replay(run.ids, len(run.ids) - 1) as sequence:
                whole = run.sequence.length // 16
                assert sequence.table[:whole] == run.sequence.table[:whole]
            check_cache(made)
        assert tokens(records + advance_all(made), "a") == greedy(made.transformer, prompt(40), 6)

    def test_it_takes_the_longest_prefix_that_agrees(self) -> None:
        made = tiny_engine()
        made.admit("short", prompt(48)[:16] + prompt(32, 7), GREEDY, 1)
        made.admit("a", prompt(48), GREEDY, 1)
        made.admit("late", prompt(48)[:17] + prompt(31, 8), GREEDY, 1)
        advance_all(made)
        kept = made.scheduler.kept["a"].sequence
        with made.replay([*prompt(48)[:40], 1, 2, 3], 42) as sequence:
            assert sequence.table[:2] == kept.table[:2]
            assert sequence.table[2] != kept.table[2]

    @pytest.mark.parametrize("first", [-1, 4])
    def test_a_row_that_is_not_there_is_refused(self, first: int) -> None:
        made = tiny_engine()
        with pytest.raises(ValueError, match="no row"), made.replay([1, 2, 3], first):
            raise AssertionError("entered")


class TestRegion:
    def test_blocks_of_runs_and_searches_are_moved_out_of_it_and_their_texts_stay_the_same(self) -> None:
        made = tiny_engine(capacity=256)
        made.admit("first", prompt(60, 5), GREEDY, 1)
        found = made.advance()
        made.admit("a", prompt(20, 1), GREEDY, 12)
        made.admit("b", prompt(20, 2), GREEDY, 12)
        made.search("s", prompt(20, 4), 2, 6)
        for _ in range(3):
            found += made.advance()
        made.scheduler.forget("first")  # the first blocks of the pool
        before = {block for run in made.scheduler.runs.values() for block in run.sequence.table}
        region = made.scheduler.clear(9)
        assert before & set(region)
        holders = [*made.scheduler.runs.values(), *made.scheduler.searches["s"].live]
        assert not {block for each in holders for block in each.sequence.table} & set(region)
        assert not any(made.cache.refcounts[block] for block in region)
        found += advance_all(made)
        for key, seed in (("a", 1), ("b", 2)):
            assert tokens(found, key) == greedy(made.transformer, prompt(20, seed), 12)
        made.cache.put_back(region)
        check_cache(made)

    def test_ended_runs_in_it_are_forgotten(self) -> None:
        made = tiny_engine(capacity=96)
        for seed in range(3):
            answer(made, prompt(20, seed), 2, key=str(seed))
        assert made.scheduler.clear(6) == range(6)
        assert made.scheduler.kept == {}

    def test_there_is_none_beside_another_that_leaves_too_few_blocks_in_a_row(self) -> None:
        made = tiny_engine(capacity=96)
        first = made.scheduler.clear(4)
        assert first == range(2, 6)
        assert made.scheduler.clear(3) is None
        made.cache.put_back(first)
        assert made.scheduler.clear(3) == range(3, 6)
