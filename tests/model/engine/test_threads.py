"""A pass of one row leaves a processor to others; no other pass does."""

from __future__ import annotations

import pytest
import torch

from kvscope.model.engine import threads
from kvscope.model.hooks import observing
from tests.support.tiny import GREEDY, advance_all, closes, prompt, tiny_engine

PROCESSORS = 3


@pytest.fixture(autouse=True)
def _threads_that_sleep(monkeypatch: pytest.MonkeyPatch, one_thread_for_tiny_models: None) -> None:
    monkeypatch.setattr(threads, "_processors", lambda: PROCESSORS)
    torch.set_num_threads(PROCESSORS)


def threads_of_passes(*prompts: int, new_tokens: int = 3, broken: bool = False) -> list[int]:
    """How many threads each pass ran on of runs with prompts so long, advanced together."""
    made, seen = tiny_engine(), []

    def note(_: object) -> None:
        seen.append(torch.get_num_threads())
        if broken:
            raise RuntimeError("no")

    for key, length in enumerate(prompts):
        made.admit(str(key), prompt(length), GREEDY, new_tokens)
    with observing(made.runner.points, {"blocks.0.attn.weights": note}):
        assert len(closes(advance_all(made))) == len(prompts)
    return seen


def test_a_decode_step_leaves_a_processor_and_prefill_does_not() -> None:
    assert threads_of_passes(5) == [3, 2, 2]
    assert threads_of_passes(5, 5) == [3, 3, 3]


@pytest.mark.parametrize(("ids", "first", "passes"), [(9, 8, [3, 2]), (9, 4, [3, 3]), (9, 0, [3]), (1, 0, [2])])
def test_a_second_look_at_one_row_leaves_a_processor(ids: int, first: int, passes: list[int]) -> None:
    made, seen = tiny_engine(), []
    looked = observing(made.runner.points, {"blocks.0.attn.weights": lambda _: seen.append(torch.get_num_threads())})
    with looked, made.replay(prompt(ids), first):
        assert torch.get_num_threads() == PROCESSORS
    assert seen == passes


def test_a_pass_that_fails_gives_the_threads_back() -> None:
    assert threads_of_passes(1, new_tokens=1, broken=True) == [2]
    assert torch.get_num_threads() == PROCESSORS
