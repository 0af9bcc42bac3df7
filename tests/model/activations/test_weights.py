"""Weights of a block, by the name of what they make."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from safetensors.torch import load

from kvscope.model.activations.answers import block_values
from kvscope.model.activations.weights import part_of, weight_picture, weight_row
from kvscope.model.api import Weights
from tests.support.refused import refusal
from tests.support.tiny import ARCHS, prompt, random_weights, shared_model, tiny_engine

NAMES = get_args(Weights)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_row_is_the_checkpoints(arch: str, dtype: torch.dtype) -> None:
    model = shared_model(arch, dtype)
    stored = random_weights(model.config, dtype)
    row = load(weight_row(model, 1, "attn.out", 5))["row"]
    torch.testing.assert_close(row, stored["blocks.1.attn.out.weight"][5].float())
    first = model.config.heads * model.config.head_dim
    row = load(weight_row(model, 1, "attn.k", 3))["row"]
    torch.testing.assert_close(row, stored["blocks.1.attn.qkv.weight"][first + 3].float())


@pytest.mark.parametrize("arch", ARCHS)
def test_each_name_has_as_many_rows_as_what_it_makes_has_numbers(arch: str) -> None:
    engine = tiny_engine(arch)
    model = engine.transformer
    values = load(block_values(engine, prompt(5), 0))
    made = {"attn.norm": "attn.normed", "attn.out": "attn.change", "mlp.norm": "mlp.normed", "mlp.up": "mlp.raised"}
    made |= {name: name for name in ("attn.q", "attn.k", "attn.v", "mlp.gate")} | {"mlp.down": "mlp.change"}
    for name, tensor in made.items():
        if tensor in values:
            assert len(part_of(model, 0, name).weight) == values[tensor].numel(), name


def test_what_a_model_does_not_have_is_refused_with_what_it_has() -> None:
    error = refusal(weight_row, shared_model("gpt2"), 0, "mlp.gate", 0)
    assert "no mlp.gate" in str(error)
    assert set(error.limit) < set(NAMES)
    assert "no attn.rope" in str(refusal(weight_row, shared_model("gpt2"), 0, "attn.rope", 0))
    assert "index is 32; it must be from 0 to 31" in str(refusal(weight_row, shared_model(), 0, "attn.out", 32))
    assert "a vector" in str(refusal(weight_picture, shared_model(), 0, "attn.norm"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_picture_has_a_shade_for_each_weight(dtype: torch.dtype) -> None:
    model = shared_model(dtype=dtype)
    told = load(weight_picture(model, 1, "mlp.down"))
    weight = random_weights(model.config, dtype)["blocks.1.mlp.down.weight"].float()
    torch.testing.assert_close(told["largest"], weight.abs().max().reshape(1))
    step = (told["shades"].float() - 128) / 127
    again = step * step.abs() * told["largest"]
    assert (again - weight).abs().max() < 0.01 * told["largest"]
