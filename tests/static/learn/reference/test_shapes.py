"""The shapes on the reference page are those of the tensors that pass the hook points."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvscope.model.checkpoint.layout import slots
from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import Observer, hook_points
from kvscope.model.service.info import describe
from tests.support.node import answer_of
from tests.support.tiny import ARCHS, prompt, tiny_checkpoint, tiny_engine

SCRIPT = Path(__file__).parent / "shapes-answers.js"
N, STEP = 11, 4


def axes(shape: list[int]) -> list[int]:
    """Without axes of one, and in no order: the engine joins all runs in one list of rows."""
    return sorted(size for size in shape if size != 1)


@pytest.mark.parametrize("arch", ARCHS)
def test_every_shape_is_that_of_the_tensor_at_its_hook_point(arch: str) -> None:
    engine, ids = tiny_engine(arch), prompt(N + STEP)
    info = describe(tiny_checkpoint(arch), engine.transformer, "cpu")
    answers = answer_of(SCRIPT, {"model": info, "n": N, "t": N + STEP})
    hooks = {name.removeprefix("blocks.1."): name for name in hook_points(engine.transformer)}
    hooks = {row: hooks[row] for row in answers if row in hooks}
    assert len(hooks) >= 12
    for phase, (tokens, first) in enumerate(((N, 0), (N + STEP, N + STEP - 1))):
        recorded = recorded_shapes(engine, ids[:tokens], first, hooks)
        assert {row: axes(shape) for row, shape in recorded.items()} == {
            row: axes(answers[row][phase]) for row in hooks
        }


def recorded_shapes(engine: Engine, ids: list[int], first: int, hooks: dict[str, str]) -> dict[str, list[int]]:
    """The shape of the tensor at each hook point in a pass over the rows from `first` on."""
    shapes: dict[str, list[int]] = {}

    def observer(row: str) -> Observer:
        return lambda value: shapes.__setitem__(row, list(value.shape))

    with engine.replay(ids, first, {hook: observer(row) for row, hook in hooks.items()}):
        pass
    for row in ("attn.scores", "attn.weights"):
        _, kv_heads, group, *rest = shapes[row]  # B Hkv G Q K
        shapes[row] = [kv_heads * group, *rest]
    return shapes


@pytest.mark.parametrize("arch", ARCHS)
def test_every_weight_has_as_many_numbers_as_the_checkpoints(arch: str) -> None:
    engine = tiny_engine(arch)
    config = engine.transformer.config
    answers = answer_of(SCRIPT, {"model": describe(tiny_checkpoint(arch), engine.transformer, "cpu"), "n": N, "t": N})
    named = {slot.name: list(slot.shape) for slot in slots(config)}
    assert answers["W_O"][0][::-1] == named["blocks.0.attn.out.weight"]
    assert answers["W_down"][0][::-1] == named["blocks.0.mlp.down.weight"]
    assert answers["embedding table"][0] == named["embed.weight"]
    rows = answers["W_Q"][0][1] + 2 * answers["W_K, W_V"][0][1]
    assert [rows, config.d] == named["blocks.0.attn.qkv.weight"]
    assert ("position table" in answers) == (config.positions == "learned")
    assert ("W_gate, W_up" in answers) == config.gated
