"""What is computed in pieces lets others go on in between, and nothing of theirs gets into it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kvscope.model.activations.observe import observe
from kvscope.model.pieces import Interrupted, Pieces, pause, pause_alone, unbroken
from kvscope.model.settings import Sampling
from tests.support.in_pieces import begun
from tests.support.tiny import advance_all, check_cache, greedy, prompt, tiny_engine, tokens

GREEDY = Sampling(strategy="greedy")
IDS = prompt(100)


def result_of(work: Callable[[], Any], between: Callable[[], Any] = lambda: None) -> tuple[Any, int]:
    """What `work` returns or raises, computed in pieces; and how many there were."""
    pieces, count = Pieces("test"), 0
    found = begun(pieces, work)
    while pieces.in_progress:
        pieces.go_on()
        count += 1
        if pieces.in_progress:
            between()
    return found[0], count


def test_one_thread_computes_at_a_time_and_the_computation_comes_to_its_end() -> None:
    said: list[str] = []

    def work() -> str:
        for number in range(2):
            said.append(f"piece {number}")
            pause()
        return "done"

    assert result_of(work, lambda: said.append("others")) == ("done", 3)
    assert said == ["piece 0", "others", "piece 1", "others"]


def test_a_script_that_gives_it_to_nobody_computes_it_at_once() -> None:
    pause()
    pause_alone()
    assert threading.current_thread() is threading.main_thread()


def test_what_may_not_be_left_half_done_is_one_piece() -> None:
    def work() -> None:
        with unbroken():
            pause()
        pause()

    assert result_of(work)[1] == 2


def test_runs_in_between_change_nothing_of_an_answer_and_it_changes_nothing_of_theirs() -> None:
    """Their passes go through the same hook points."""
    made, points = tiny_engine(), ["blocks.0.attn.weights", "blocks.1.resid_out", "final"]
    expected = observe(tiny_engine(), IDS, 0, points, cache_of=[1])
    made.admit("a", prompt(20, 1), GREEDY, 12)
    records: list[Any] = []
    seen, count = result_of(lambda: observe(made, IDS, 0, points, cache_of=[1]), lambda: records.extend(made.advance()))
    assert count > 1
    assert records
    assert all(torch.equal(seen.values[name], expected.values[name]) for name in points)
    assert all(map(torch.equal, seen.cache[1], expected.cache[1]))
    assert tokens(records + advance_all(made), "a") == greedy(made.transformer, prompt(20, 1), 12)
    check_cache(made)


def test_no_block_of_an_answer_in_progress_is_moved() -> None:
    made, regions = tiny_engine(capacity=128), list[range | None]()
    expected = observe(tiny_engine(), IDS, 0, ["final"]).values["final"]
    seen, _ = result_of(
        lambda: observe(made, IDS, 0, ["final"]).values["final"], lambda: regions.append(made.scheduler.clear(4))
    )
    assert set(regions) == {None}
    assert torch.equal(seen, expected)
    assert made.scheduler.clear(4) == range(4, 8)


def test_an_answer_that_nobody_waits_for_ends_and_gives_back_its_blocks() -> None:
    made, pieces = tiny_engine(), Pieces("test")
    pieces.begin(lambda: observe(made, IDS, 0, ["final"]))
    pieces.go_on()
    assert pieces.in_progress
    assert made.cache.free_blocks < made.cache.blocks
    pieces.abandon()
    assert not pieces.in_progress
    check_cache(made)
    assert made.cache.free_blocks == made.cache.blocks
    assert not any(point.observers for point in made.runner.points.values())
    pieces.begin(lambda: observe(made, IDS, 0, ["final"]))  # it takes up the next one
    while pieces.in_progress:
        pieces.go_on()


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_what_is_measured_alone_ends_where_runs_went_on(is_interrupted: bool) -> None:
    pieces = Pieces("test")
    found = begun(pieces, pause_alone)
    pieces.go_on()
    pieces.is_interrupted = is_interrupted
    pieces.go_on()
    assert [type(each) for each in found] == [Interrupted if is_interrupted else type(None)]
