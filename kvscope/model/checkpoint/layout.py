"""List the weights of a `ModelConfig`: names, shapes, and the parts that are stacked into one weight; and fill them.

Checkpoint readers differ only in the names of parts and in decoding; filling, checking and progress are here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import torch

from kvscope.model.api import Progress, Refused
from kvscope.model.config import ModelConfig
from kvscope.model.families import joined
from kvscope.model.linear import GroupedWeight
from kvscope.model.transformer import Weight

_ELEMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Slot:
    """One weight of the model: `parts` are (name, rows), stacked in this order along its first dimension.

    `matrix`: whether it is the matrix of a product, or the embedding; those may be stored in fewer bytes.
    """

    name: str
    shape: tuple[int, ...]
    parts: tuple[tuple[str, int], ...]
    matrix: bool = False


ReadGroups = Callable[[Slot], GroupedWeight | None]
"""Return a matrix in the groups of the file, or None if it must be read part by part. Called from several threads."""

ReadPart = Callable[[str, torch.Tensor], None]
"""Decode the named part into the given fp32 tensor, which has its shape. Called from several threads."""


def slots(config: ModelConfig) -> list[Slot]:
    """Lists every weight of the model, in order. Linear weights are [out, in]."""
    weights = [_slot("embed.weight", (config.vocab, config.d), matrix=True)]
    if config.positions == "learned":
        weights.append(_slot("positions.weight", (config.context, config.d)))
    for layer in range(config.layers):
        weights += _block(config, layer)
    weights += _norm(config, "norm")
    if not config.tied:
        weights.append(_slot("lm_head.weight", (config.vocab, config.d), matrix=True))
    return weights


def _block(config: ModelConfig, layer: int) -> Iterator[Slot]:
    prefix = f"blocks.{layer}."
    qkv: tuple[tuple[str, int], ...]
    gate_up: tuple[tuple[str, int], ...]
    q_rows, kv_rows = config.heads * config.head_dim, config.kv_heads * config.head_dim
    together = joined(config.arch)
    qkv = (("q", q_rows), ("k", kv_rows), ("v", kv_rows))
    if "qkv" in together:
        qkv = (("qkv", q_rows + 2 * kv_rows),)
    yield from _norm(config, f"{prefix}attn.norm")
    yield from _linear(f"{prefix}attn.", "qkv", qkv, config.d, config.qkv_bias)
    if config.qk_norm:
        yield _slot(f"{prefix}attn.q_norm.weight", (config.head_dim,))
        yield _slot(f"{prefix}attn.k_norm.weight", (config.head_dim,))
    yield from _linear(f"{prefix}attn.", "out", (("out", config.d),), q_rows, config.out_bias)
    if config.post_norms:
        yield from _norm(config, f"{prefix}attn.post_norm")
    if config.mlp == "none":
        return
    yield from _norm(config, f"{prefix}mlp.norm")
    if config.has_experts(layer):
        yield from _experts(config, f"{prefix}mlp.")
        return
    if config.gated:
        gate_up = (("gate", config.d_mlp), ("up", config.d_mlp))
        if "gate_up" in together:
            gate_up = (("gate_up", 2 * config.d_mlp),)
        yield from _linear(f"{prefix}mlp.", "gate_up", gate_up, config.d, config.mlp_bias)
    else:
        yield from _linear(f"{prefix}mlp.", "up", (("up", config.d_mlp),), config.d, config.mlp_bias)
    yield from _linear(f"{prefix}mlp.", "down", (("down", config.d),), config.d_mlp, config.mlp_bias)
    if config.post_norms:
        yield from _norm(config, f"{prefix}mlp.post_norm")


def _experts(config: ModelConfig, prefix: str) -> Iterator[Slot]:
    yield from _linear(prefix, "router", (("router", config.experts),), config.d, False)
    for expert in range(config.experts):
        own = f"experts.{expert}"
        gate_up = ((f"{own}.gate", config.d_expert), (f"{own}.up", config.d_expert))
        yield from _linear(prefix, f"gate_up.{expert}", gate_up, config.d, False)
        yield from _linear(prefix, f"down.{expert}", ((f"{own}.down", config.d),), config.d_expert, False)


def qkv_rows(config: ModelConfig, by_head: bool = False) -> list[int]:
    """Returns for each row of a joined Q, K and V the row of the file that has it. In the model, Q's heads come first,
    and rotated numbers are pairs (i, i + head_dim/2). In the file, a pair is (i, i + rotated/2) in the first `rotated`
    numbers of each head; with `by_head`, each head's q, k and v follow one another. Products of q and k do not change.
    """
    counts, width = (config.heads, config.kv_heads, config.kv_heads), config.head_dim
    half, end = config.rotated // 2, config.rotated + (width - config.rotated) // 2
    paired = [*range(half), *range(config.rotated, end), *range(half, config.rotated), *range(end, width)]
    rows: list[int] = []
    for part, count in enumerate(counts):
        for head in range(count):
            start = (3 * head + part if by_head else sum(counts[:part]) + head) * width
            rows += (start + number for number in (range(width) if part == 2 else paired))
    return rows


def _slot(name: str, shape: tuple[int, ...], *, matrix: bool = False) -> Slot:
    return Slot(name, shape, ((name, shape[0]),), matrix)


def _norm(config: ModelConfig, name: str) -> Iterator[Slot]:
    if config.norm == "none":
        return
    yield _slot(f"{name}.weight", (config.d,))
    if config.norm == "layer":
        yield _slot(f"{name}.bias", (config.d,))


def _linear(prefix: str, name: str, parts: tuple[tuple[str, int], ...], inputs: int, bias: bool) -> Iterator[Slot]:
    rows = sum(count for _, count in parts)
    for kind, shape in (("weight", (rows, inputs)), ("bias", (rows,))):
        if kind == "weight" or bias:
            named = tuple((f"{prefix}{part}.{kind}", count) for part, count in parts)
            yield Slot(f"{prefix}{name}.{kind}", shape, named, matrix=kind == "weight")


def fill(
    config: ModelConfig,
    read: ReadPart,
    source: str,
    progress: Callable[[Progress], None],
    dtype: torch.dtype = torch.float32,
    groups: ReadGroups | None = None,
) -> dict[str, Weight]:
    """Allocates every weight (fp32, contiguous), reads its parts into it, and converts matrices to `dtype`, or keeps
    them in groups.

    `source` names the file in messages. Progress counts bytes of fp32 weights. Raises Refused if `read` does, and for a
    weight that is NaN or infinite.
    """
    by_size = sorted(slots(config), key=lambda slot: -_elements(slot))
    total = sum(_elements(slot) for slot in by_size) * _ELEMENT_BYTES
    done = 0
    weights: dict[str, Weight] = {}
    message = f"Loading {source}"
    progress(Progress("loading", 0, total, message))
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        pending = {pool.submit(_filled, slot, read, source, dtype, groups): slot for slot in by_size}
        try:
            for future in as_completed(pending):
                slot = pending[future]
                weights[slot.name] = future.result()
                done += _elements(slot) * _ELEMENT_BYTES
                progress(Progress("loading", done, total, message))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return {slot.name: weights[slot.name] for slot in slots(config)}


def _filled(slot: Slot, read: ReadPart, source: str, dtype: torch.dtype, groups: ReadGroups | None) -> Weight:
    weight = groups(slot) if groups and slot.matrix else None
    if weight is not None:
        if not all(part.finite for part in weight):
            raise _not_finite(slot, source)
        return weight
    tensor = torch.empty(slot.shape, dtype=torch.float32)
    start = 0
    for part, rows in slot.parts:
        read(part, tensor[start : start + rows])
        start += rows
    # aminmax propagates NaN, so checking two numbers checks all of them.
    if not all(torch.isfinite(bound) for bound in torch.aminmax(tensor)):
        raise _not_finite(slot, source)
    return tensor.to(dtype) if slot.matrix else tensor


def _not_finite(slot: Slot, source: str) -> Refused:
    return Refused("model", f"{source} is corrupted: {slot.name} holds values that are NaN or infinite.")


def _elements(slot: Slot) -> int:
    count = 1
    for length in slot.shape:
        count *= length
    return count
