"""Computes what each head of a layer adds to a token's row: its output times its own columns of W_O."""

from __future__ import annotations

import torch
from safetensors.torch import save

from kvscope.model.activations.observe import observe
from kvscope.model.activations.shards import change_of, joined
from kvscope.model.activations.weights import part_of
from kvscope.model.engine.engine import Engine


def head_contributions(engine: Engine, ids: list[int], layer: int) -> bytes:
    """Computes the part of each head in attention's change for the last row of `ids`, as safetensors.

    `attn.partials` F32 [H, D], the head's output times its columns of W_O: their sum is W_O times the joined heads
    (arXiv:1706.03762, §3.2.2); `attn.bias` F32 [D], added once, if the model has one; `attn.sum` F32 [D];
    `attn.change` F32 [D], the model's own result, before the norm if the model norms its changes. Raises CacheFull.
    """
    transformer = engine.transformer
    config, change = transformer.config, change_of("attn", transformer.config)
    observed = observe(engine, ids, len(ids) - 1, [f"blocks.{layer}.{name}" for name in ("attn.mixed", change)])
    own, out = observed.block(layer), part_of(transformer, layer, "attn.out")
    with torch.inference_mode():
        weight = out.weight.float().reshape(-1, config.heads, config.head_dim)  # D H Dh
        partials = torch.einsum("he,dhe->hd", own["attn.mixed"][0].float(), weight)
        tensors = {"attn.partials": partials, "attn.change": own[change][0]} | joined("attn", partials, out.bias)
    return save({name: tensor.float().cpu().contiguous() for name, tensor in tensors.items()})
