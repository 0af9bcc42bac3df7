"""What a log says of a model is what the model's own modules are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch.nn import LayerNorm
from torch.nn import functional as F

from kvscope.model.activations.answers import block_values
from kvscope.model.engine.engine import Engine
from kvscope.model.log.schema import Model
from kvscope.model.service.info import describe
from kvscope.model.transformer import Block, RMSNorm, Transformer
from tests.support.tiny import ARCHS, prompt, shared_model, tiny_checkpoint, tiny_engine

ACTIVATIONS = {"silu": F.silu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}


@pytest.fixture(params=ARCHS)
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def described(arch: str, **changes: Any) -> tuple[dict[str, Any], Transformer]:
    transformer = shared_model(arch, **changes)
    return describe(tiny_checkpoint(arch, **changes), transformer, "cpu"), transformer


def test_it_has_every_field_that_a_log_may_have(arch: str) -> None:
    model, _ = described(arch)
    assert set(model) == set(Model.model_fields)
    assert Model(**model).model_dump(exclude_unset=True) == model


@pytest.mark.parametrize("tied", [True, False])
def test_it_is_what_the_modules_are(arch: str, tied: bool) -> None:
    model, transformer = described(arch, tied=tied)
    norms = {"rms": RMSNorm, "layer": LayerNorm}
    assert len(transformer.blocks) == model["layers"]
    for block in transformer.blocks:
        assert isinstance(block, Block)
        assert block.mlp is not None
        assert type(block.attn.norm) is type(block.mlp.norm) is type(transformer.norm) is norms[model["norm"]]
        assert hasattr(block.mlp, "gate_up") == hasattr(block.mlp, "gate") == model["gated"]
        assert hasattr(block.attn, "q_norm") == hasattr(block.attn, "k_norm") == model["qk_norm"]
    assert (transformer.inv_freq is not None) == (model["positions"] == "rotary")
    assert (transformer.positions is not None) == (model["positions"] == "learned")
    assert torch.equal(transformer.lm_head.dense(), transformer.embed.weight) == model["tied"] == tied


def test_the_activation_is_the_one_that_the_mlp_applies(arch: str) -> None:
    model, _ = described(arch)
    values = load(block_values(tiny_engine(arch), prompt(9), 1))
    bent = ACTIVATIONS[model["activation"]]
    up = values["mlp.raised"]
    expected = bent(values["mlp.gate"]) * up if model["gated"] else bent(up)
    assert torch.allclose(values["mlp.hidden"], expected, atol=1e-6)


@pytest.mark.parametrize("window", [None, 5])
def test_a_query_sees_as_many_keys_as_the_window_of_its_layer(arch: str, window: int | None) -> None:
    model, transformer = described(arch, window=window)
    engine = Engine(transformer, capacity=64)
    for layer in range(model["layers"]):
        weights = load(block_values(engine, prompt(12), layer))["attn.weights"]
        seen = 12 if model["windows"] is None else model["windows"][layer]
        assert (weights > 0).sum(-1).unique().tolist() == [seen]
