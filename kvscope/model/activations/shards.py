"""Computes one layer as several devices would: each has some of the heads and a part of the MLP, and sums join them.

As in Megatron-LM (arXiv:1909.08053, §3): W_Q, W_K and W_V are cut by heads, W_O by the columns that read those heads;
the MLP's first matrices by rows, its last by columns. Each device computes its part of a change alone; the sum of the
parts is the change. The devices here are slices of the loaded weights, computed one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor, nn

from kvscope.model.activations.observe import Observed, observe
from kvscope.model.activations.weights import part_of
from kvscope.model.config import ModelConfig
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import BLOCK_SIZE, KVCache, Sequence
from kvscope.model.transformer import MLP, Attention, Transformer

Half = TypeVar("Half", Attention, MLP)
HALVES = ("attn", "mlp")


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one device: KV heads with all query heads that read them, and columns inside the MLP."""

    kv_heads: range
    columns: range


def shares_of(config: ModelConfig, devices: int) -> list[Share]:
    """Divides a layer as evenly as whole KV heads allow, the larger parts first."""
    parts = zip(_even(config.kv_heads, devices), _even(config.d_mlp, devices), strict=True)
    return [Share(*part) for part in parts]


def _even(count: int, parts: int) -> list[range]:
    return [range(*ends) for ends in pairwise(-(-count * part // parts) for part in range(parts + 1))]


def layer_shards(engine: Engine, ids: list[int], layer: int, devices: int) -> bytes:
    """Computes the last row of `ids` in one layer on `devices` devices, as safetensors.

    For `attn` and `mlp`: `partials` F32 [devices, D], each device's part of the change; `bias` F32 [D], added once, if
    the model has one; `sum` F32 [D]; `change` F32 [D], computed by the whole model, before the norm if the model norms
    its changes: each device norms the whole sum. The MLP's input includes the devices' own attention,
    unless the MLP reads the row before it. By device:
    `kv_heads` and `columns` I32 [devices, 2] (first, and after the last); `parameters` I32 [devices], its number of
    weights. Raises CacheFull.
    """
    config = engine.transformer.config
    changes = {f"{half}.change": change_of(half, config) for half in HALVES}
    names = ("resid_in", *changes.values())
    observed = observe(engine, ids, len(ids) - 1, [f"blocks.{layer}.{name}" for name in names], cache_of=[layer])
    own, shares = observed.block(layer), shares_of(config, devices)
    with torch.inference_mode():
        attentions = [_attention(engine.transformer, layer, share.kv_heads) for share in shares]
        mlps = [_mlp(engine.transformer, layer, share.columns) for share in shares]
        row = own["resid_in"]  # 1 D
        tensors = {"attn.partials": _attended(engine.transformer, attentions, shares, row, ids, observed, layer)}
        tensors |= joined("attn", tensors["attn.partials"], part_of(engine.transformer, layer, "attn.out").bias)
        change = tensors["attn.sum"]
        if config.post_norms:
            change = _block(engine.transformer, layer).attn.post_norm(change)
        tensors["mlp.partials"] = torch.cat([mlp(row if config.parallel else row + change) for mlp in mlps])
        tensors |= joined("mlp", tensors["mlp.partials"], part_of(engine.transformer, layer, "mlp.down").bias)
    parameters = [
        sum(weight.numel() for half in halves for weight in half.parameters())
        for halves in zip(attentions, mlps, strict=True)
    ]
    tensors |= {name: own[point][0] for name, point in changes.items()}
    tensors |= {
        "kv_heads": _ends([share.kv_heads for share in shares]),
        "columns": _ends([share.columns for share in shares]),
        "parameters": torch.tensor(parameters, dtype=torch.int32),
    }
    return save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})


def change_of(half: str, config: ModelConfig) -> str:
    """Returns the hook point of the change of a half, before the norm if the model norms its changes."""
    return f"{half}.raw_change" if config.post_norms else f"{half}.change"


def joined(half: str, partials: Tensor, bias: Tensor | None) -> dict[str, Tensor]:
    """Returns the sum [D] of the parts [parts, D] of a change with its bias, and the bias if there is one."""
    total = partials.sum(dim=0)
    return {f"{half}.sum": total} if bias is None else {f"{half}.sum": total + bias, f"{half}.bias": bias.clone()}


def _ends(ranges: list[range]) -> Tensor:
    return torch.tensor([[each.start, each.stop] for each in ranges], dtype=torch.int32)


def _attended(
    transformer: Transformer,
    attentions: list[Attention],
    shares: list[Share],
    row: Tensor,
    ids: list[int],
    observed: Observed,
    layer: int,
) -> Tensor:
    """Returns each device's part of attention's change for `row` [1, D]: [devices, D], from its own heads' K and V."""
    device, partials = str(row.device), []
    has_window = transformer.config.has_window(layer)
    for attention, share in zip(attentions, shares, strict=True):
        heads = slice(share.kv_heads.start, share.kv_heads.stop)
        cache, sequence = KVCache(attention.config, -(-len(ids) // BLOCK_SIZE), device), Sequence()
        slots = cache.extend(sequence, len(ids))
        k, v = (stored[heads, :-1].transpose(0, 1) for stored in observed.cache[layer])  # T Hkv Dh
        cache.write(0, slots[:-1], k, v)
        entry = Entry(ids[-1:], len(ids) - 1, slots[-1:], slots)
        batch = make_batch([entry], attention.config.window)[0].to(device)
        partials.append(attention(row, batch, transformer.ropes(batch.positions)[has_window], cache, 0))
    return torch.cat(partials)


def _attention(transformer: Transformer, layer: int, kv_heads: range) -> Attention:
    """Returns one device's attention: its heads' rows of W_Q, W_K and W_V, and the columns of W_O that read them."""
    config, whole = transformer.config, _block(transformer, layer).attn
    width = config.head_dim
    queries = slice(kv_heads.start * config.group * width, kv_heads.stop * config.group * width)
    keys = slice(kv_heads.start * width, kv_heads.stop * width)
    cuts = {"attn.q": queries, "attn.k": keys, "attn.v": keys}
    parts = [(part_of(transformer, layer, name), rows) for name, rows in cuts.items()]
    weights = {
        "qkv.weight": torch.cat([part.weight[rows] for part, rows in parts]),
        "out.weight": part_of(transformer, layer, "attn.out").weight[:, queries],
    }
    if config.qkv_bias:
        weights["qkv.bias"] = torch.cat([part.bias[rows] for part, rows in parts if part.bias is not None])
    part_config = replace(
        config,
        layers=1,
        global_layers=() if config.has_window(layer) else (0,),
        heads=len(kv_heads) * config.group,
        kv_heads=len(kv_heads),
        out_bias=False,
        post_norms=False,
    )
    return _filled(Attention, part_config, weights | _norms(whole))


def _mlp(transformer: Transformer, layer: int, columns: range) -> MLP:
    """Returns one device's MLP: rows of the first matrices, and the columns of the last that read their output."""
    config, whole = transformer.config, _block(transformer, layer).mlp
    rows = slice(columns.start, columns.stop)
    into = [part_of(transformer, layer, name) for name in (("mlp.gate", "mlp.up") if whole.gated else ("mlp.up",))]
    name = "gate_up" if whole.gated else "up"
    weights = {
        f"{name}.weight": torch.cat([part.weight[rows] for part in into]),
        "down.weight": part_of(transformer, layer, "mlp.down").weight[:, rows],
    }
    if config.mlp_bias:
        weights[f"{name}.bias"] = torch.cat([part.bias[rows] for part in into if part.bias is not None])
        # The bias of `mlp.down` is added once, to the sum.
        weights["down.bias"] = torch.zeros(config.d, device=weights["down.weight"].device)
    return _filled(MLP, replace(config, d_mlp=len(columns), post_norms=False), weights | _norms(whole))


def _norms(whole: nn.Module) -> dict[str, Tensor]:
    """Returns the weights of the norms before the products; every device has all of them."""
    norms = ("norm", "q_norm", "k_norm")
    return {name: value for name, value in whole.state_dict().items() if name.partition(".")[0] in norms}


def _block(transformer: Transformer, layer: int) -> Any:
    return transformer.blocks[layer]


def _filled(kind: type[Half], config: ModelConfig, weights: Mapping[str, Tensor]) -> Half:
    with torch.device("meta"):
        module = kind(config)
    module.load_state_dict(weights, assign=True)
    return module.eval()
