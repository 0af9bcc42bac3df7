"""Beam search against brute force, against a search without a cache, and as a guest of the engine."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import BeamNode, BeamsRecord, CloseRecord, Record
from kvscope.model.hooks import observing
from kvscope.model.kv_cache import CacheFull
from kvscope.model.transformer import Transformer
from tests.support.loaded import engine_of
from tests.support.tiny import (
    ARCHS,
    GREEDY,
    advance_all,
    answer,
    check_cache,
    closes,
    greedy,
    prompt,
    shared_model,
    tiny_engine,
    tokens,
    whole_logits,
)
from tests.support.tiny_files import VOCAB, write_folder


def search(
    engine: Engine, ids: list[int], beams: int, length: int, key: str = "b"
) -> tuple[list[BeamsRecord], list[Record]]:
    """The depths of a search to its end, and all records of the engine."""
    engine.search(key, ids, beams, length)
    records = advance_all(engine)
    return depths(records), records


def depths(records: list[Record]) -> list[BeamsRecord]:
    return [record for record in records if isinstance(record, BeamsRecord)]


def text_of(found: list[BeamsRecord], node: int) -> list[int]:
    """The tokens from the context to a node."""
    nodes = {each.id: each for depth in found for each in depth.nodes}
    at: BeamNode | None = nodes[node]
    text: list[int] = []
    while at is not None:
        text.insert(0, at.token)
        at = nodes[at.parent] if at.parent is not None else None
    return text


def final(found: list[BeamsRecord]) -> dict[tuple[int, ...], float]:
    """The hypotheses left at the end with their totals: those kept at the last depth, and all that ended."""
    left = [node for depth in found for node in depth.nodes if node.kept and (node.ended or depth is found[-1])]
    return {tuple(text_of(found, node.id)): node.total for node in left}


def log_probs(model: Transformer, ids: list[int]) -> Tensor:
    """[V] of the token after `ids`, from one pass over all of them."""
    return whole_logits(model, ids)[-1].double().log_softmax(-1)


def total(model: Transformer, ids: list[int], text: tuple[int, ...]) -> float:
    return sum(float(log_probs(model, [*ids, *text[:at]])[token]) for at, token in enumerate(text))


def search_without_cache(model: Transformer, ids: list[int], beams: int, length: int) -> list[tuple[list[int], float]]:
    """The same search written the plain way: the whole text again for every candidate. No token ends it."""
    live: list[tuple[list[int], float]] = [([], 0.0)]
    for _ in range(length):
        grown = [
            ([*text, token], score + logprob)
            for text, score in live
            for token, logprob in enumerate(log_probs(model, ids + text).tolist())
        ]
        live = sorted(grown, key=lambda each: -each[1])[:beams]
    return live


class TestTruth:
    @pytest.mark.parametrize("eos", [(), (3,)])
    def test_with_room_for_everything_it_finds_every_continuation(self, eos: tuple[int, ...]) -> None:
        model = shared_model(vocab=5)
        found, _ = search(Engine(model, capacity=4096, eos=eos), [0, 2, 1], beams=125, length=3)
        ends = set(eos)
        everything = {
            text
            for length in (1, 2, 3)
            for text in product(range(5), repeat=length)
            if not ends.intersection(text[:-1]) and (length == 3 or text[-1] in ends)
        }
        assert len(everything) == (125 if not eos else 1 + 4 + 4 * 4 * 5)
        left = final(found)
        assert left.keys() == everything
        for text, score in left.items():
            assert score == pytest.approx(total(model, [0, 2, 1], text), abs=1e-4)
        assert tuple(text_of(found, found[-1].best)) == max(left, key=lambda text: left[text])

    @pytest.mark.parametrize("arch", ARCHS)
    def test_a_narrow_search_is_the_one_without_a_cache(self, arch: str) -> None:
        made = tiny_engine(arch)
        found, _ = search(made, prompt(13), beams=3, length=7)
        expected = search_without_cache(made.transformer, prompt(13), 3, 7)
        left = final(found)
        assert list(left) == [tuple(text) for text, _ in expected]
        assert list(left.values()) == pytest.approx([score for _, score in expected], abs=1e-3)
        assert text_of(found, found[-1].best) == expected[0][0]

    def test_it_says_what_it_did_not_follow_too(self) -> None:
        made = tiny_engine()
        (first, second), _ = search(made, prompt(13), beams=3, length=2)
        assert len(second.nodes) == 6
        assert [node.kept for node in first.nodes] == [True] * 3 + [False] * 3
        probs, best = log_probs(made.transformer, prompt(13)).sort(descending=True)
        assert [node.token for node in first.nodes] == best[:6].tolist()
        assert [node.logprob for node in first.nodes] == pytest.approx(probs[:6].tolist(), abs=1e-4)
        assert all((node.total, node.parent) == (node.logprob, None) for node in first.nodes)
        by_id = {node.id: node for node in first.nodes}
        for node in second.nodes:
            parent = by_id[node.parent or 0]
            assert parent.kept
            assert node.total == pytest.approx(parent.total + node.logprob, rel=1e-12)
        totals = [node.total for node in second.nodes]
        assert totals == sorted(totals, reverse=True)
        assert [node.id for node in (*first.nodes, *second.nodes)] == list(range(12))


class TestEnds:
    def test_what_ended_keeps_its_place_and_grows_no_more(self) -> None:
        best = log_probs(shared_model(), prompt(20)).topk(3).indices.tolist()
        found, _ = search(tiny_engine(eos=(best[1],)), prompt(20), beams=3, length=4)
        ended = found[0].nodes[1]
        assert (ended.token, ended.kept, ended.ended) == (best[1], True, True)
        assert [sum(node.kept for node in depth.nodes) for depth in found[:2]] == [3, 2]
        assert not any(node.parent == ended.id for depth in found for node in depth.nodes)
        assert [depth.rows for depth in found[:2]] == [20, 2]
        # Every further token costs probability, so what ended first stays the best of these.
        assert found[-1].best == ended.id
        assert final(found)[best[1],] == ended.total

    def test_when_all_have_ended_the_search_is_over(self) -> None:
        made = Engine(shared_model(vocab=4), capacity=256, eos=(0, 1, 2, 3))
        (only,), records = search(made, [1, 2], beams=2, length=9)
        assert closes(records)["b"] == CloseRecord("b", "eos", None, 0)
        assert only.kv.blocks == 0
        check_cache(made)

    def test_a_stop_gives_its_blocks_back(self) -> None:
        made = tiny_engine()
        made.search("b", prompt(20), beams=4, length=9)
        for _ in range(2):
            made.advance()
        assert made.stop("b") == CloseRecord("b", "stopped", None, 0)
        assert made.cache.free_blocks == made.cache.blocks
        assert not made.busy

    def test_one_that_fails_says_so_and_harms_no_run(self) -> None:
        made = tiny_engine()
        run = made.admit("run", prompt(20), GREEDY, 6)
        made.search("b", prompt(20, 1), beams=2, length=6)
        records = made.advance() + made.advance()
        # Two rows are the search's: the run feeds one.
        scale = {1: 1.0, 2: float("nan")}
        with observing(made.runner.points, {"embedded": lambda rows: rows.mul_(scale[len(rows)])}):
            records += made.advance()
        failed = closes(records)["b"]
        assert (failed.reason, "NaN" in (failed.error or "")) == ("failed", True)
        check_cache(made)
        advance_all(made)
        assert run.ids[20:] == greedy(made.transformer, prompt(20), 6)


class TestCache:
    def test_hypotheses_share_the_context_and_copy_what_they_write_to(self) -> None:
        made = tiny_engine()
        made.search("b", prompt(40), beams=4, length=30)
        position = made.cache.position_bytes
        for depth in range(30):
            kv = depths(made.advance())[0].kv
            check_cache(made)
            assert kv.bytes_if_copied == 4 * (40 + depth) * position
            live = made.scheduler.searches["b"].live if "b" in made.scheduler.searches else []
            blocks = [block for each in live for block in each.sequence.table]
            if live:
                assert kv.blocks == len(set(blocks))
                assert kv.shared_blocks == len({block for block in blocks if blocks.count(block) > 1}) >= 2
                stored = {slot for each in live for slot in made.cache.slots(each.sequence).tolist()}
                assert kv.bytes_used == len(stored) * position
        assert made.cache.free_blocks == made.cache.blocks

    def test_it_shares_what_runs_hold_and_changes_none_of_it(self) -> None:
        made = tiny_engine()
        run = made.admit("run", prompt(40), GREEDY, 12)
        for _ in range(4):
            made.advance()
        guest = made.search("b", run.ids[:43], beams=3, length=6)
        assert guest.live[0].sequence.table[:2] == run.sequence.table[:2]
        records = advance_all(made)
        assert [depth.rows for depth in depths(records)] == [1, 3, 3, 3, 3, 3]
        assert run.ids[40:] == greedy(made.transformer, prompt(40), 12)
        expected = search_without_cache(made.transformer, prompt(40) + greedy(made.transformer, prompt(40), 3), 3, 6)
        assert list(final(depths(records))) == [tuple(text) for text, _ in expected]
        check_cache(made)

    def test_a_context_nobody_holds_is_computed_in_chunks_and_counted(self) -> None:
        made = tiny_engine(prefill_chunk=16)
        made.search("b", prompt(40), beams=3, length=2)
        assert [made.advance(), made.advance()] == [[], []]
        first = depths(made.advance())[0]
        assert first.rows == 40
        expected = search_without_cache(made.transformer, prompt(40), 3, 1)
        assert [[node.token] for node in first.nodes if node.kept] == [text for text, _ in expected]

    @pytest.mark.parametrize(("context", "beams", "length"), [(15, 3, 20), (16, 4, 17), (17, 8, 16), (1, 8, 32)])
    def test_the_room_it_is_promised_is_enough(self, context: int, beams: int, length: int) -> None:
        shared = context // 16
        blocks = shared + beams * (-(-(context + length - 1) // 16) - shared)
        for room in (blocks - 1, blocks):
            made = tiny_engine(capacity=16 * room)
            answer(made, prompt(16 * room, 9)[: 16 * room - 1], 1, key="before")
            if room < blocks:
                with pytest.raises(CacheFull):
                    made.search("b", prompt(context), beams, length)
                assert not made.busy
            else:
                made.search("b", prompt(context), beams, length)
                with pytest.raises(CacheFull):
                    made.admit("other", prompt(3), GREEDY, 1)
                assert closes(advance_all(made))["b"].reason == "length"
            check_cache(made)


class TestControl:
    def test_runs_and_searches_advance_together(self) -> None:
        made = tiny_engine()
        made.admit("run", prompt(20), GREEDY, 5)
        made.search("b", prompt(9, 1), beams=2, length=5)
        made.search("c", prompt(9, 2), beams=3, length=3)
        records = [record for _ in range(5) for record in made.advance()]
        assert not made.busy
        assert tokens(records, "run") == greedy(made.transformer, prompt(20), 5)
        assert {run: end.reason for run, end in closes(records).items()} == dict.fromkeys(["run", "b", "c"], "length")

    def test_a_paused_search_stands_still_and_steps_a_depth_at_a_time(self) -> None:
        made = tiny_engine(prefill_chunk=16)
        guest = made.search("b", prompt(40), beams=2, length=5)
        guest.paused = True
        assert made.advance() == []
        assert not made.busy
        guest.single_steps = 2
        assert len(depths(advance_all(made))) == 2
        guest.paused = False
        assert len(depths(advance_all(made))) == 3

    def test_what_cannot_be_searched_is_refused(self) -> None:
        made = tiny_engine()
        made.admit("a", prompt(5), GREEDY, 3)
        made.search("b", prompt(5), 2, 3)
        with pytest.raises(ValueError, match="at least one token"):
            made.search("c", [], 2, 3)
        for key in ("a", "b"):
            for begin in (
                lambda key: made.search(key, prompt(5), 2, 3),
                lambda key: made.admit(key, prompt(5), GREEDY, 3),
            ):
                with pytest.raises(ValueError, match="already active"):
                    begin(key)
        check_cache(made)


class TestReference:
    @pytest.mark.parametrize("beams", [2, 5])
    @pytest.mark.parametrize("arch", ["llama", "gpt2"])
    def test_it_finds_what_transformers_finds(self, arch: str, beams: int, tmp_path: Path) -> None:
        # With an end token, theirs keeps what ended beside the beams and ours in one of their places.
        reference = write_folder(tmp_path, arch, attn_implementation="eager", eos_token_id=None).eval()
        ids = prompt(13, vocab=len(VOCAB))
        out = reference.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            do_sample=False,
            num_beams=beams,
            num_return_sequences=beams,
            max_new_tokens=6,
            length_penalty=0.0,
            return_dict_in_generate=True,
            output_scores=True,
            pad_token_id=0,
        )
        left = final(search(engine_of(tmp_path, capacity=512), ids, beams=beams, length=6)[0])
        assert list(left) == [tuple(row[len(ids) :]) for row in out.sequences.tolist()]
        assert list(left.values()) == pytest.approx(out.sequences_scores.tolist(), abs=1e-4)
