"""Returns the weights of one block: a row of a matrix, exactly, or a whole matrix as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from kvscope.model.api import Refused
from kvscope.model.linear import Linear
from kvscope.model.transformer import Transformer

ZERO, STEPS = 128, 127
"""The shade of a weight of 0, and the number of shades below and above it."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a matrix, [rows, columns], or a norm's weights, [rows]; `bias` [rows], if it has one."""

    weight: Tensor
    bias: Tensor | None = None
    eps: float | None = None
    """The number that a norm adds to the mean square, or to the variance."""


def weight_row(transformer: Transformer, layer: int, of: str, index: int) -> bytes:
    """Returns the weights of output `index` of `of`: `row` F32, [columns] of a matrix or [1] of a norm; `bias` F32 [1],
    if it has one; `eps` F32 [1] of a norm. For `attn.rope`, `row` is the angle by which pair `index` of q and k turns
    for each position. Raises Refused if the model does not have `of` or `index`.
    """
    part = part_of(transformer, layer, of)
    last = len(part.weight) - 1
    if index > last:
        raise Refused("index", f"index is {index}; it must be from 0 to {last:,}.", limit=[0, last])
    tensors = {"row": part.weight[index].reshape(-1)}
    if part.bias is not None:
        tensors["bias"] = part.bias[index].reshape(1)
    if part.eps is not None:
        tensors["eps"] = torch.tensor([part.eps])
    return save({name: tensor.float().cpu().contiguous() for name, tensor in tensors.items()})


def weight_picture(transformer: Transformer, layer: int, of: str) -> bytes:
    """Returns `shades` U8 [rows, columns], 128 ± √(|weight| ÷ largest) × 127; `largest` F32 [1], the largest |weight|.

    The root makes small weights visible: most are far smaller than the largest. Raises Refused if the model does not
    have `of`, or it is not a matrix.
    """
    weight = part_of(transformer, layer, of).weight.float()
    if weight.dim() != 2:
        raise Refused("of", f"of is {of}, a vector; only a matrix can be drawn.")
    largest = weight.abs().max()
    shades = (weight.sign() * (weight.abs() / largest).sqrt() * STEPS + ZERO).round().to(torch.uint8).cpu()
    return save({"shades": shades.contiguous(), "largest": largest.reshape(1).cpu()})


def part_of(transformer: Transformer, layer: int, of: str) -> Part:
    """Returns the weights of part `of` of a block: `attn.q`, `mlp.down`, … Raises Refused if the model has none."""
    config = transformer.config
    block: Any = transformer.blocks[layer]
    heads, kv_heads = config.heads * config.head_dim, config.kv_heads * config.head_dim
    places: dict[str, tuple[Any, int, int | None]] = {
        "attn.norm": (block.attn.norm, 0, None),
        "attn.q": (block.attn.qkv, 0, heads),
        "attn.k": (block.attn.qkv, heads, heads + kv_heads),
        "attn.v": (block.attn.qkv, heads + kv_heads, None),
        "attn.out": (block.attn.out, 0, None),
        "mlp.norm": (block.mlp.norm, 0, None),
    }
    sparse = config.has_experts(layer)
    if not sparse:
        places["mlp.up"] = (block.mlp.gate_up, config.d_mlp, None) if config.gated else (block.mlp.up, 0, None)
        places["mlp.down"] = (block.mlp.down, 0, None)
    if config.gated and not sparse:
        places["mlp.gate"] = (block.mlp.gate_up, 0, config.d_mlp)
    if config.qk_norm:
        places |= {"attn.q_norm": (block.attn.q_norm, 0, None), "attn.k_norm": (block.attn.k_norm, 0, None)}
    if config.post_norms:
        places |= {"attn.post_norm": (block.attn.post_norm, 0, None), "mlp.post_norm": (block.mlp.post_norm, 0, None)}
    if of == "attn.rope" and (frequencies := transformer.frequencies(layer)) is not None:
        return Part(frequencies)
    if of not in places:
        raise Refused("of", f"This model has no {of}.", limit=list(places))
    module, first, end = places[of]
    weight = module.dense() if isinstance(module, Linear) else module.weight
    bias = getattr(module, "bias", None)
    return Part(weight[first:end], None if bias is None else bias[first:end], getattr(module, "eps", None))
