"""A step on a GPU starts few operations, and the host waits for it once. A simulated GPU counts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from kvscope.model import transformer as transformer_module
from kvscope.model.cuda_graphs import GraphedSteps
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import Record, RowsRecord, StepRecord
from kvscope.model.settings import Kept
from kvscope.model.transformer import Transformer
from tests.support.simulated_gpu import SimulatedGpu, simulated_gpu
from tests.support.tiny import ARCHS, GREEDY, SAMPLED, advance_all, prompt, random_weights, tiny_config

PER_LAYER = {"llama": 22, "qwen3": 24, "gemma3_text": 28, "gpt2": 17}
"""The operations of a decode step in each layer, of which 4 are products with weights."""


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedGpu]:
    monkeypatch.setattr(transformer_module, "can_pack", lambda device: False)
    with simulated_gpu(monkeypatch) as made:
        yield made


def engine(arch: str, gpu: SimulatedGpu | None, *, graphs: bool = True, **changes: Any) -> Engine:
    config = tiny_config(arch, **changes)
    model = Transformer.from_weights(config, random_weights(config))
    if gpu is None:
        return Engine(model, capacity=1024)
    gpu.moved(model)
    there = Engine(model, capacity=1024, device="cuda")
    if graphs:
        there.runner.steps = GraphedSteps(model, there.cache, pytest.fail, gpu.record)
    return there


def step_of(gpu: SimulatedGpu, there: Engine, runs: int = 1, **options: Any) -> tuple[int, list[str]]:
    """The operations of a decode step, and why the host waited."""
    for number in range(runs):
        there.admit(str(number), prompt(9 + 3 * number), GREEDY, 8, **options)
    for _ in range(3):
        there.advance()
    gpu.operations.clear()
    gpu.waits.clear()
    there.advance()
    return len(gpu.operations), list(gpu.waits)


@pytest.mark.parametrize("recorded", ["rows", "end"])
@pytest.mark.parametrize("runs", [1, 8])
@pytest.mark.parametrize("arch", ["llama", "gemma3_text"])
def test_the_host_waits_for_a_step_once(gpu: SimulatedGpu, arch: str, runs: int, recorded: str) -> None:
    operations, waits = step_of(gpu, engine(arch, gpu), runs, recorded=recorded)
    print(f"{arch}, {runs} runs, {recorded}: {operations} operations, {len(waits)} waits")
    assert waits == ["copy to the host"]


@pytest.mark.parametrize("arch", PER_LAYER)
def test_a_layer_takes_few_operations(gpu: SimulatedGpu, arch: str) -> None:
    few, more = (step_of(gpu, engine(arch, gpu, layers=layers), recorded="end")[0] for layers in (2, 4))
    assert (more - few) / 2 <= PER_LAYER[arch]


def test_what_frames_show_of_a_step_takes_as_many_operations_for_any_number_of_layers(gpu: SimulatedGpu) -> None:
    shown = []
    for layers in (2, 8):
        plain, captured = (
            step_of(gpu, engine("llama", gpu, layers=layers), recorded=each)[0] for each in ("end", "rows")
        )
        shown.append(captured - plain)
    assert shown[0] == shown[1] < 40


def records(of: Engine) -> list[Record]:
    """Of runs of every kind that a pass has something else for, and of a beam search."""
    of.admit("greedy", prompt(5), GREEDY, 6)
    of.admit("sampled", prompt(20), SAMPLED, 6)
    of.admit("few rows", prompt(12), GREEDY, 6, keeping=Kept(sinks=1, recent=4, heavy=3))
    of.search("beams", prompt(8), 3, 4)
    return advance_all(of)


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("arch", [*ARCHS, "qwen3_moe"])
def test_a_gpu_records_what_a_cpu_does(gpu: SimulatedGpu, arch: str, graphs: bool) -> None:
    with torch.utils._python_dispatch._disable_current_modes():
        expected = records(engine(arch, None))
    actual = records(engine(arch, gpu, graphs=graphs))
    assert [type(each) for each in actual] == [type(each) for each in expected]
    for ours, theirs in zip(actual, expected, strict=True):
        if isinstance(ours, StepRecord):
            assert (ours.choice.token, ours.kv) == (theirs.choice.token, theirs.kv)
            np.testing.assert_allclose(ours.candidates.logits, theirs.candidates.logits, rtol=1e-4, atol=1e-4)
        if isinstance(ours, RowsRecord):
            codes = ours.rows.attention.astype(int) - theirs.rows.attention
            assert np.abs(codes).max() <= 1
