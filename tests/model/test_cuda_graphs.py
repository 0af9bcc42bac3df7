"""A step over places that stay, as a CUDA graph has it. Here what records it computes it again on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from kvscope.model.cuda_graphs import KEYS, GraphedSteps, Values
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import Record, RowsRecord, StepRecord
from kvscope.model.settings import Kept, Sampling
from tests.support.tiny import ARCHS, advance_all, answer, prompt, tiny_engine


class Again:
    """As a graph: what is computed again lies where it lay before. Counts what was recorded."""

    def __init__(self) -> None:
        self.graphs = 0

    @torch.inference_mode()
    def __call__(self, compute: Callable[[], Values]) -> tuple[Callable[[], None], Values]:
        self.graphs += 1
        values = compute()

        @torch.inference_mode()
        def replay() -> None:
            for place, value in zip(values, compute(), strict=True):
                place.copy_(value)

        return replay, values


def once(compute: Callable[[], Values]) -> tuple[Callable[[], None], Values]:
    """As a graph that nothing was recorded in."""
    return lambda: None, compute()


def graphed(arch: str = "llama") -> tuple[Engine, Again]:
    engine = tiny_engine(arch)
    recorded = Again()
    engine.runner.steps = GraphedSteps(engine.transformer, engine.cache, pytest.fail, recorded)
    return engine, recorded


def records(engine: Engine, lengths: list[int], steps: int, keeping: Kept | None = None) -> list[Record]:
    for number, length in enumerate(lengths):
        engine.admit(str(number), prompt(length), Sampling(), steps, keeping=keeping)
    return [record for _ in range(steps) for record in engine.advance()]


@pytest.mark.parametrize("lengths", [[5], [4, 9, 6], [KEYS - 2, 3]])
@pytest.mark.parametrize("arch", ARCHS)
def test_steps_over_places_that_stay_are_those_of_the_modules(arch: str, lengths: list[int]) -> None:
    engine, recorded = graphed(arch)
    plain, fast = records(tiny_engine(arch), lengths, 5), records(engine, lengths, 5)
    assert recorded.graphs
    for ours, theirs in zip(fast, plain, strict=True):
        assert type(ours) is type(theirs)
        if isinstance(ours, StepRecord):
            assert ours.choice.token == theirs.choice.token
            np.testing.assert_allclose(ours.candidates.logits, theirs.candidates.logits, rtol=1e-4, atol=1e-4)
        if isinstance(ours, RowsRecord):
            for name in ("attention", "q_norm", "k_norm", "v_norm", "residual_norm"):
                one, other = getattr(ours.rows, name), getattr(theirs.rows, name)
                assert one.shape == other.shape
                np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=2e-3, atol=1)


def test_a_step_is_recorded_once_for_each_size_with_what_frames_show_and_without() -> None:
    engine, recorded = graphed()
    records(engine, [5], 5)
    assert recorded.graphs == 1
    answer(engine, prompt(7), 4)
    assert recorded.graphs == 1
    engine.admit("beside", prompt(5), Sampling(), 4)
    answer(engine, prompt(KEYS), 4)
    assert recorded.graphs == 2
    engine.admit("end", prompt(5), Sampling(), 4, recorded="end")
    advance_all(engine)
    assert recorded.graphs == 3


def test_who_looks_within_a_graph_sees_the_modules() -> None:
    engine, recorded = graphed()
    seen: list[torch.Tensor] = []
    ids = prompt(9)
    with engine.replay(ids, len(ids) - 1, {"blocks.1.mlp.hidden": seen.append}):
        pass
    assert (len(seen), recorded.graphs) == (1, 0)
    with engine.replay(ids, len(ids) - 1, {"blocks.1.resid_out": seen.append, "final": seen.append}):
        pass
    assert (len(seen), recorded.graphs) == (3, 1)


def test_a_graph_that_gives_other_values_is_given_up_and_said_so_once() -> None:
    said: list[str] = []
    engine = tiny_engine()
    engine.runner.steps = GraphedSteps(engine.transformer, engine.cache, said.append, once)
    plain = records(tiny_engine(), [5, 9], 5)
    fast = records(engine, [5, 9], 5)
    assert said == ["a CUDA graph gives other values than what it was recorded from"]
    for ours, theirs in zip(fast, plain, strict=True):
        if isinstance(ours, StepRecord):
            assert (ours.candidates.logits == theirs.candidates.logits).all()


def test_rows_that_are_dropped_for_the_attention_they_get_are_the_same() -> None:
    keeping = Kept(sinks=1, recent=4, heavy=3)
    texts = []
    for engine in (tiny_engine(), graphed()[0]):
        run = engine.admit("a", prompt(20), Sampling(), 12, keeping=keeping, recorded="tokens")
        advance_all(engine)
        texts.append(run.ids)
    assert texts[0] == texts[1]
