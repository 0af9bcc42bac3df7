"""Exact float32 values of one head or one block, as safetensors (docs/frames.md, On demand)."""

from __future__ import annotations

from typing import cast

import torch
from safetensors.torch import save
from torch import Tensor

from kvscope.model.activations.observe import Observed, observe
from kvscope.model.config import ModelConfig
from kvscope.model.engine.engine import Engine
from kvscope.model.transformer import Block, Experts

OF_HEAD = ("q_rot", "scores", "weights", "mixed")
"""Hook points of a block's attention that say what a head does with the cache …"""
OF_HEAD_AGAIN = ("q_rot", "k_rot", "v", "mixed")
"""… and what it does without."""


def head_values(engine: Engine, ids: list[int], first_query: int, layer: int, head: int) -> bytes:
    """q [Q, Dh], k and v [K, Dh], scores and weights [Q, K], output [Q, Dh] of one query head.

    The queries are rows `first_query`… of `ids`; k and v are those of the K/V head it reads, as they lie in the cache.
    Raises CacheFull.
    """
    seen = observe(engine, ids, first_query, _in_attention(layer, OF_HEAD), cache_of=[layer])
    return _save(_head(seen, engine.transformer.config, layer, head))


def algebra_values(engine: Engine, ids: list[int], layer: int, head: int) -> bytes:
    """The last row of `ids` in one query head, computed twice.

    With the cache, where only that row is new: what `head_values` gives. From all the tokens in one pass, with nothing
    of the cache: `q_again`, `k_again`, `v_again`, `output_again`, each [K, Dh], the row of every token. Raises
    CacheFull.
    """
    config = engine.transformer.config
    again = observe(engine, ids, 0, _in_attention(layer, OF_HEAD_AGAIN))
    cached = observe(engine, ids, len(ids) - 1, _in_attention(layer, OF_HEAD), cache_of=[layer])
    return _save(_head(cached, config, layer, head) | _head_again(again, config, layer, head))


def block_values(engine: Engine, ids: list[int], layer: int) -> bytes:
    """Every hook point of one block for the last token of `ids`.

    They are named as in the model: `attn.normed`, `mlp.hidden`, `resid_out` … `attn.scores` and `attn.weights` are
    [H, K], the rest [width] or [heads, Dh]. `cache.k` and `cache.v`, [Hkv, K, Dh], are what the cache then holds of
    the block, the token's own rows last. Of a block with experts also what is inside those that the router chose, the
    largest share first: `mlp.gate`, `mlp.raised` and `mlp.hidden` [X, F], and `mlp.parts` [X, D], their outputs before
    their shares. Raises CacheFull.
    """
    names = [name for name in engine.runner.points if name.startswith(f"blocks.{layer}.")]
    found = _block(observe(engine, ids, len(ids) - 1, names, cache_of=[layer]), layer)
    mlp = cast(Block, engine.transformer.blocks[layer]).mlp
    return _save(found | (_in_experts(mlp, found) if isinstance(mlp, Experts) else {}))


def _in_experts(mlp: Experts, found: dict[str, Tensor]) -> dict[str, Tensor]:
    """Computed again: a pass keeps nothing of the inside of its experts."""
    row = found["mlp.normed"][None]  # 1 D
    with torch.inference_mode():
        inside = [mlp.inside(expert, row) for expert in found["mlp.chosen"].tolist()]
    names = ("mlp.gate", "mlp.raised", "mlp.hidden", "mlp.parts")
    return {name: torch.cat(parts) for name, parts in zip(names, zip(*inside, strict=True), strict=True)}


def _in_attention(layer: int, names: tuple[str, ...]) -> list[str]:
    return [f"blocks.{layer}.attn.{name}" for name in names]


def _head(seen: Observed, config: ModelConfig, layer: int, head: int) -> dict[str, Tensor]:
    kv_head, place = divmod(head, config.group)
    block, (k, v) = seen.block(layer), seen.cache[layer]  # Hkv K Dh
    return {
        "q": block["attn.q_rot"][:, head],
        "k": k[kv_head],
        "v": v[kv_head],
        "scores": block["attn.scores"][0, kv_head, place],
        "weights": block["attn.weights"][0, kv_head, place],
        "output": block["attn.mixed"][:, head],
    }


def _head_again(seen: Observed, config: ModelConfig, layer: int, head: int) -> dict[str, Tensor]:
    kv_head, block = head // config.group, seen.block(layer)
    return {
        "q_again": block["attn.q_rot"][:, head],
        "k_again": block["attn.k_rot"][:, kv_head],
        "v_again": block["attn.v"][:, kv_head],
        "output_again": block["attn.mixed"][:, head],
    }


def _block(seen: Observed, layer: int) -> dict[str, Tensor]:
    found = {name: value[0] for name, value in seen.block(layer).items()}
    for name in ("attn.scores", "attn.weights"):
        found[name] = found[name].flatten(0, 1)[:, 0]  # Hkv G 1 K -> H K
    k, v = seen.cache[layer]  # Hkv K Dh
    return {**found, "cache.k": k, "cache.v": v}


def _save(tensors: dict[str, Tensor]) -> bytes:
    # Cloned, because K and V of the cache lie in one tensor, which safetensors refuses.
    return save({name: tensor.float().cpu().contiguous().clone() for name, tensor in tensors.items()})
