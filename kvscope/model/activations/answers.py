"""Computes exact float32 values of one head or one block, as safetensors (docs/frames.md, On demand)."""

from __future__ import annotations

from typing import cast

import torch
from safetensors.torch import save
from torch import Tensor

from kvscope.model.activations.observe import Observed, observe
from kvscope.model.api import MAX_COMPARED
from kvscope.model.config import ModelConfig
from kvscope.model.engine.engine import Engine
from kvscope.model.transformer import Block, Experts

OF_HEAD = ("q_rot", "scores", "weights", "mixed")
"""Hook points of a block's attention for a head's values with the cache …"""
OF_HEAD_AGAIN = ("q_rot", "k_rot", "v", "mixed")
"""… and without it."""
OF_LAYER = ("attn.normed", "attn.change", "resid_mid", "mlp.hidden", "resid_out")
"""Hook points of a whole block with which a decode step is shown; a block with experts lacks `mlp.hidden`."""


def head_values(engine: Engine, ids: list[int], first_query: int, layer: int, head: int) -> bytes:
    """Returns q [Q, Dh], k and v [K, Dh], scores and weights [Q, K], output [Q, Dh] of one query head.

    The queries are rows `first_query`… of `ids`; k and v are the cached rows of the KV head that it reads. Raises
    CacheFull.
    """
    observed = observe(engine, ids, first_query, _in_attention(layer, OF_HEAD), cache_of=[layer])
    return _save(_head(observed, engine.transformer.config, layer, head))


def algebra_values(engine: Engine, ids: list[int], layer: int, head: int) -> bytes:
    """Computes the last row of `ids` in one query head twice, with the cache and without it.

    With the cache only that row is new: the values are as in `head_values`. Without it, one pass over all tokens gives
    `q_again`, `k_again`, `v_again` and `output_again`, each [K, Dh], a row for every token. For at most `MAX_COMPARED`
    tokens also `scores_again` and `weights_again` [K, K], and for each of `OF_LAYER` the new row with the cache [1, D]
    and all rows without it, `…_again` [K, D]. One more pass, over the tokens before the last, gives the older rows as
    they were before, `…_before` [K - 1, …], of those that differ in any bit from `…_again`. Raises CacheFull.
    """
    config = engine.transformer.config
    whole = len(ids) <= MAX_COMPARED
    of_layer = [name for name in OF_LAYER if whole and f"blocks.{layer}.{name}" in engine.runner.points]
    points = [f"blocks.{layer}.{name}" for name in of_layer]
    of_head = points + _in_attention(layer, tuple({*OF_HEAD, *OF_HEAD_AGAIN}) if whole else OF_HEAD_AGAIN)
    again = _all_rows(observe(engine, ids, 0, of_head), config, layer, head)
    cached = observe(engine, ids, len(ids) - 1, points + _in_attention(layer, OF_HEAD), cache_of=[layer])
    values = _head(cached, config, layer, head) | {name: cached.block(layer)[name] for name in of_layer}
    values |= {f"{name}_again": value for name, value in again.items()}
    if whole and len(ids) > 1:
        before = _all_rows(observe(engine, ids[:-1], 0, of_head), config, layer, head)
        for name, value in before.items():
            if name not in ("k", "v") and not torch.equal(value, again[name][:-1, : value.shape[1]]):
                values[f"{name}_before"] = value
    return _save(values)


def block_values(engine: Engine, ids: list[int], layer: int) -> bytes:
    """Returns the values of all hook points of one block for the last token of `ids`.

    Names are as in the model: `attn.normed`, `mlp.hidden`, `resid_out` … `attn.scores` and `attn.weights` are [H, K],
    the rest [width] or [heads, Dh]. `cache.k` and `cache.v`, [Hkv, K, Dh], are the block's cached rows, the token's own
    last. A block with experts also has the values inside the chosen experts, the largest share first: `mlp.gate`,
    `mlp.raised` and `mlp.hidden` [X, F], and `mlp.parts` [X, D], their outputs before their shares. Raises CacheFull.
    """
    names = [name for name in engine.runner.points if name.startswith(f"blocks.{layer}.")]
    values = _block(observe(engine, ids, len(ids) - 1, names, cache_of=[layer]), layer)
    mlp = cast(Block, engine.transformer.blocks[layer]).mlp
    return _save(values | (_in_experts(mlp, values) if isinstance(mlp, Experts) else {}))


def _in_experts(mlp: Experts, values: dict[str, Tensor]) -> dict[str, Tensor]:
    """Computes the values inside the chosen experts again: a pass does not store them."""
    row = values["mlp.normed"][None]  # 1 D
    with torch.inference_mode():
        inside = [mlp.inside(expert, row) for expert in values["mlp.chosen"].tolist()]
    names = ("mlp.gate", "mlp.raised", "mlp.hidden", "mlp.parts")
    return {name: torch.cat(parts) for name, parts in zip(names, zip(*inside, strict=True), strict=True)}


def _in_attention(layer: int, names: tuple[str, ...]) -> list[str]:
    return [f"blocks.{layer}.attn.{name}" for name in names]


def _head(observed: Observed, config: ModelConfig, layer: int, head: int) -> dict[str, Tensor]:
    kv_head, place = divmod(head, config.group)
    block, (k, v) = observed.block(layer), observed.cache[layer]  # Hkv K Dh
    return {
        "q": block["attn.q_rot"][:, head],
        "k": k[kv_head],
        "v": v[kv_head],
        "scores": block["attn.scores"][0, kv_head, place],
        "weights": block["attn.weights"][0, kv_head, place],
        "output": block["attn.mixed"][:, head],
    }


def _all_rows(observed: Observed, config: ModelConfig, layer: int, head: int) -> dict[str, Tensor]:
    """Returns the observed values of one query head and of the whole block by name, a row for every token."""
    kv_head, place = divmod(head, config.group)
    block = observed.block(layer)
    rows = {
        "q": block.pop("attn.q_rot")[:, head],
        "k": block.pop("attn.k_rot")[:, kv_head],
        "v": block.pop("attn.v")[:, kv_head],
        "output": block.pop("attn.mixed")[:, head],
    }
    for name in ("scores", "weights"):
        if f"attn.{name}" in block:
            rows[name] = block.pop(f"attn.{name}")[0, kv_head, place]  # B Hkv G Q K -> Q K
    return rows | block


def _block(observed: Observed, layer: int) -> dict[str, Tensor]:
    values = {name: value[0] for name, value in observed.block(layer).items()}
    for name in ("attn.scores", "attn.weights"):
        values[name] = values[name].flatten(0, 1)[:, 0]  # Hkv G 1 K -> H K
    k, v = observed.cache[layer]  # Hkv K Dh
    return {**values, "cache.k": k, "cache.v": v}


def _save(tensors: dict[str, Tensor]) -> bytes:
    # Cloned because K and V of the cache share one tensor, which safetensors refuses.
    return save({name: tensor.float().cpu().contiguous().clone() for name, tensor in tensors.items()})
