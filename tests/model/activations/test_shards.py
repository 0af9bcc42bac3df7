"""One layer on several devices, against the same slices in float64, and against the model itself."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load
from torch import Tensor

from kvscope.model.activations.answers import block_values
from kvscope.model.activations.shards import Share, layer_shards, shares_of
from kvscope.model.service import ModelService
from tests.support.refused import refusal
from tests.support.tiny import ARCHS, prompt, random_weights, tiny_checkpoint, tiny_config, tiny_engine

LAYER = 1


def told(arch: str, length: int = 21, devices: int = 2) -> dict[str, Tensor]:
    return load(layer_shards(tiny_engine(arch), prompt(length), LAYER, devices))


@pytest.mark.parametrize("arch", ARCHS)
def test_the_devices_changes_add_up_to_the_models(arch: str) -> None:
    found = told(arch)
    values = load(block_values(tiny_engine(arch), prompt(21), LAYER))
    for half in ("attn", "mlp"):
        change, total = found[f"{half}.change"], found[f"{half}.partials"].sum(dim=0) + found.get(f"{half}.bias", 0)
        own = values.get(f"{half}.raw_change", values[f"{half}.change"])
        torch.testing.assert_close(change, own, rtol=0, atol=0)
        torch.testing.assert_close(found[f"{half}.sum"], total)
        assert (found[f"{half}.sum"] - change).abs().max() < 2e-6 * change.abs().max()
        assert (found[f"{half}.partials"].abs().amax(dim=-1) > 1e-2).all(), "each device adds something"


@pytest.mark.parametrize("arch", ["llama", "gpt2", "qwen3"])
def test_each_devices_part_is_what_its_slices_give_in_float64(arch: str) -> None:
    config, found = tiny_config(arch), told(arch)
    weights = {
        name.removeprefix(f"blocks.{LAYER}."): value.double()
        for name, value in random_weights(config).items()
        if name.startswith(f"blocks.{LAYER}.")
    }
    values = {name: value.double() for name, value in load(block_values(tiny_engine(arch), prompt(21), LAYER)).items()}
    for device, share in enumerate(shares_of(config, 2)):
        q_heads = range(share.kv_heads.start * config.group, share.kv_heads.stop * config.group)
        mixed = torch.stack([mix_of(values, head, head // config.group, config.head_dim) for head in q_heads])
        columns = slice(q_heads.start * config.head_dim, q_heads.stop * config.head_dim)
        attn = weights["attn.out.weight"][:, columns] @ mixed.flatten()
        torch.testing.assert_close(found["attn.partials"][device].double(), attn, rtol=0, atol=1e-5)
        mine = slice(share.columns.start, share.columns.stop)
        normed = values["mlp.normed"]
        if arch == "gpt2":
            inner = weights["mlp.up.weight"][mine] @ normed + weights["mlp.up.bias"][mine]
            hidden = F.gelu(inner, approximate="tanh")
        else:
            gate, up = weights["mlp.gate_up.weight"].chunk(2)
            hidden = F.silu(gate[mine] @ normed) * (up[mine] @ normed)
        mlp = weights["mlp.down.weight"][:, mine] @ hidden
        torch.testing.assert_close(found["mlp.partials"][device].double(), mlp, rtol=0, atol=2e-5)


def mix_of(values: dict[str, Tensor], head: int, kv_head: int, width: int) -> Tensor:
    k, v = values["cache.k"][kv_head], values["cache.v"][kv_head]
    weights = (k @ values["attn.q_rot"][head] / math.sqrt(width)).softmax(dim=-1)
    return weights @ v


def test_shares_are_whole_kv_heads_and_the_larger_come_first() -> None:
    config = tiny_config(heads=9, kv_heads=3)
    assert shares_of(config, 2) == [Share(range(2), range(24)), Share(range(2, 3), range(24, 48))]
    assert [len(share.kv_heads) for share in shares_of(config, 3)] == [1, 1, 1]
    assert [share.columns for share in shares_of(tiny_config(d_mlp=7), 2)] == [range(4), range(4, 7)]


def test_uneven_shards_and_the_first_token_are_as_exact() -> None:
    service = ModelService(tiny_checkpoint(heads=6, kv_heads=3), "cpu")
    for devices in (2, 3):
        for position in (0, 16):
            found = load(service.shards(prompt(17), LAYER, position, devices))
            assert len(found["attn.partials"]) == devices
            for half in ("attn", "mlp"):
                change = found[f"{half}.change"]
                assert (found[f"{half}.sum"] - change).abs().max() < 2e-6 * change.abs().max()


def test_a_layer_is_not_cut_for_more_devices_than_k_v_heads() -> None:
    service = ModelService(tiny_checkpoint(heads=6, kv_heads=3), "cpu")
    error = refusal(service.shards, prompt(5), LAYER, 0, 4)
    assert "devices is 4; this model's layers are cut for at most 3" in str(error)
    assert (error.field, error.limit) == ("devices", 3)
    assert "position is 5" in str(refusal(service.shards, prompt(5), LAYER, 5, 2))
    whole = ModelService(tiny_checkpoint(kv_heads=1), "cpu")
    assert "not cut: it has one K/V head" in str(refusal(whole.shards, prompt(5), LAYER, 0, 2))
