"""What a log says of a model is what the model's own modules are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from safetensors.torch import load
from torch.nn import LayerNorm
from torch.nn import functional as F

from kvscope.model.activations.answers import block_values
from kvscope.model.checkpoint import Checkpoint
from kvscope.model.engine.engine import Engine
from kvscope.model.linear import linears
from kvscope.model.log.schema import Model
from kvscope.model.service.info import describe
from kvscope.model.transformer import RMSNorm, Transformer
from kvscope.model.weights import embedding_row_bytes, weights_held, weights_read
from tests.support.grouped import CODES, checkpoint_of, write_grouped
from tests.support.tiny import ARCHS, prompt, shared_model, tiny_checkpoint, tiny_config, tiny_engine

ACTIVATIONS = {"silu": F.silu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "gelu_erf": F.gelu}
OF_SOME = {"gemma2": {"score_cap", "logit_cap"}, "gpt_neox": {"parallel", "rotary_dim"}}
"""Fields that only logs of some models have."""
OF_OTHERS = {"computed_by"}
"""Fields that no log of this program's own computation has."""


@pytest.fixture(params=ARCHS)
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def described(arch: str, **changes: Any) -> tuple[dict[str, Any], Transformer]:
    transformer = shared_model(arch, **changes)
    return describe(tiny_checkpoint(arch, **changes), transformer, "cpu"), transformer


def test_it_has_every_field_that_a_log_may_have(arch: str) -> None:
    model, _ = described(arch)
    rare = OF_OTHERS.union(*OF_SOME.values())
    assert set(model) == set(Model.model_fields) - rare | OF_SOME.get(arch, set())
    assert all(model[name] == getattr(tiny_config(arch), name) for name in OF_SOME.get(arch, set()))
    assert Model(**model).model_dump(exclude_unset=True) == model


@pytest.mark.parametrize("tied", [True, False])
def test_it_is_what_the_modules_are(arch: str, tied: bool) -> None:
    model, transformer = described(arch, tied=tied)
    norms = {"rms": RMSNorm, "layer": LayerNorm}
    assert len(transformer.blocks) == model["layers"]
    for block in transformer.blocks:
        assert type(block.attn.norm) is type(block.mlp.norm) is type(transformer.norm) is norms[model["norm"]]
        assert hasattr(block.mlp, "gate_up") == hasattr(block.mlp, "gate") == model["gated"]
        assert hasattr(block.attn, "q_norm") == hasattr(block.attn, "k_norm") == model["qk_norm"]
        assert hasattr(block.attn, "post_norm") == hasattr(block.mlp, "post_norm") == model["post_norms"]
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
        seen = (model["windows"] or [None] * model["layers"])[layer] or 12
        assert (weights > 0).sum(-1).unique().tolist() == [seen]


GROUP_BYTES = {Kind.Q4_0: 18, Kind.Q4_1: 20, Kind.Q5_1: 36, Kind.Q8_0: 34}
"""Of 32 weights, as they are held: 5 bits as 8, and one or two float16."""


def groups_bytes(kind: Kind, outputs: int, inputs: int) -> int:
    """Panels have 16 outputs, of which the last one's may be empty."""
    return -(-outputs // 16) * 16 * inputs // 32 * GROUP_BYTES[kind]


def of_file(folder: Path, grouped: bool = True) -> tuple[Checkpoint, Transformer]:
    checkpoint = checkpoint_of(folder / "a.gguf", grouped=grouped)
    return checkpoint, Transformer.from_weights(checkpoint.config, checkpoint.weights)


class TestGroups:
    """Of a model whose weights are in groups as in its file."""

    @pytest.mark.parametrize("tied", [True, False])
    @pytest.mark.parametrize("arch", CODES)
    def test_what_all_its_numbers_take_is_said_as_of_a_dense_one(self, arch: str, tied: bool, tmp_path: Path) -> None:
        write_grouped(tmp_path / "a.gguf", arch, tied)
        said = [describe(*of_file(tmp_path, grouped=grouped), "cpu") for grouped in (True, False)]
        held = [model["weights"].pop("held") for model in said]
        assert said[0] == said[1]
        assert sum(held[1].values()) >= said[1]["weight_bytes"] == 4 * said[1]["parameters"]
        assert sum(held[0].values()) < said[0]["weight_bytes"] / 2

    @pytest.mark.parametrize("tied", [True, False])
    @pytest.mark.parametrize("arch", CODES)
    def test_each_is_counted_once_where_it_is_held(self, arch: str, tied: bool, tmp_path: Path) -> None:
        write_grouped(tmp_path / "a.gguf", arch, tied)
        checkpoint, transformer = of_file(tmp_path)
        config, kind = checkpoint.config, CODES[arch]
        table = groups_bytes(kind, config.vocab, config.d)
        blocks = sum(
            groups_bytes(kind, linear.out_features, linear.in_features) for linear in linears(transformer.blocks)
        )
        format = f"{4 if kind in (Kind.Q4_0, Kind.Q4_1) else 8}-bit groups"
        plain = sum(weight.nbytes for weight in checkpoint.weights.values() if isinstance(weight, torch.Tensor))
        held = weights_held(transformer)
        assert held == {format: blocks + (table if tied else 2 * table), "float32": plain}
        assert weights_read(linears(transformer)) == {format: blocks + table}
        assert embedding_row_bytes(transformer) == table // config.vocab

    def test_formats_are_counted_apart(self, tmp_path: Path) -> None:
        write_grouped(tmp_path / "a.gguf", attn_v=Kind.Q8_0, ffn_down=Kind.F16)
        _, transformer = of_file(tmp_path)
        read = weights_read(linears(transformer))
        assert read["8-bit groups"] == 2 * groups_bytes(Kind.Q8_0, 16, 32)
        assert read["float32"] == 2 * 4 * 32 * 64
        assert set(read) == {"4-bit groups", "8-bit groups", "float32"}
