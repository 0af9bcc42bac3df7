"""Compares all functions of the native code with torch at each start, on small random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CDLL
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from kvscope.model.compiler import Unavailable
from kvscope.model.config import ARCHITECTURES, ModelConfig
from kvscope.model.grouped import Bits, Groups
from kvscope.model.hooks import hook_points, observing
from kvscope.model.kv_cache import BLOCK_SIZE, KVCache
from kvscope.model.linear import Products, plain_product
from kvscope.model.native.steps import NativeSteps
from kvscope.model.transformer import AttentionGroup, Batch, StandIn, Transformer, Weight

CLOSE = 1e-5
"""Largest difference of a native product from torch's, relative to the largest |number| …"""
CLOSE_IN_A_BLOCK = 1e-4
"""… and of a value of a block, after several products."""
OUTPUTS = 37
LENGTHS = (20, 1, 13)
"""Lengths of the sequences in the comparison of a block."""
_TINY = ModelConfig(ARCHITECTURES[0], layers=1, heads=4, kv_heads=2, head_dim=8, d=32, d_mlp=64, vocab=8, context=64)


def compare_products(products: Products) -> None:
    """Compares products of all kinds of groups with few and many rows. Raises Unavailable if one differs."""
    generator = torch.Generator().manual_seed(0)
    for weight in _kinds(generator, OUTPUTS, 96):
        for count in (1, 2, 5, 8, 40):
            rows, bias = (torch.randn(*shape, generator=generator) for shape in ((count, weight.inputs), (OUTPUTS,)))
            expected = plain_product((weight,), bias)(rows)
            if not _is_close(products((weight,), bias)(rows), expected, CLOSE):
                raise Unavailable(f"its products with {weight.format} are not torch's")


def compare_blocks(library: CDLL) -> None:
    """Compares all values of a block, and the K and V that it stores, in a model with every optional part that the
    native code has and in one without any. Raises Unavailable if one differs.
    """
    for has in (False, True):
        config = replace(_TINY, qkv_bias=has, out_bias=has, mlp_bias=has, qk_norm=has)
        generator = torch.Generator().manual_seed(0)
        transformer = Transformer.from_weights(config, dict(_weights(config, generator)))
        batch = _batch()
        stored = torch.randn(2, config.kv_heads, batch.groups[0].slots.numel(), config.head_dim, generator=generator)
        actual, expected = (_values(transformer, batch, stored, by) for by in (library, None))
        for name, value in expected.items():
            if not _is_close(actual[name], value, CLOSE_IN_A_BLOCK):
                raise Unavailable(f"its block is not torch's: {name}")


def _values(transformer: Transformer, batch: Batch, stored: Tensor, library: CDLL | None) -> dict[str, Tensor]:
    """Returns the values at all hook points in a pass over a cache with these K and V, and its K and V afterwards."""
    points = hook_points(transformer)
    cache = KVCache(transformer.config, -(-stored.shape[2] // BLOCK_SIZE))
    layer_cache = cache.by_layer[0]
    for place, values in zip(layer_cache, stored, strict=True):
        place[:, : stored.shape[2]] = values
    step: StandIn | None = None
    if library is not None:
        step = NativeSteps(library, transformer, cache).for_pass(batch, points, ())
        assert step is not None
    shown: dict[str, Tensor] = {}
    with observing(points, {name: partial(shown.__setitem__, name) for name in points}):
        transformer(batch, cache, None, step)
    return {**shown, "K": layer_cache[0][:, : stored.shape[2]], "V": layer_cache[1][:, : stored.shape[2]]}


def _batch() -> Batch:
    """Returns a batch with a new row for each of several sequences; their lengths differ, so it has a mask."""
    lengths, keys = torch.tensor(LENGTHS), max(LENGTHS)
    slots = torch.arange(len(LENGTHS) * keys)
    visible = (torch.arange(keys) < lengths[:, None])[:, None, None, None]
    group = AttentionGroup(0, len(LENGTHS), 1, slots, visible)
    last = torch.arange(len(LENGTHS)) * keys + lengths - 1
    return Batch(lengths % 8, lengths - 1, last, (group,), torch.arange(len(LENGTHS)))


def _weights(config: ModelConfig, generator: torch.Generator) -> Iterator[tuple[str, Weight]]:
    """Yields random weights by name; matrices of blocks are in groups of 4 bits."""
    with torch.device("meta"):
        tensors = Transformer(config).state_dict()
    for name, like in tensors.items():
        if like.dim() == 2 and name.startswith("blocks."):
            groups = next(_kinds(generator, *like.shape))
            yield name, (Groups(groups.q, groups.d * 0.02, groups.m, groups.outputs, groups.bits),)
        else:
            yield name, torch.randn(like.shape, generator=generator)


def _kinds(generator: torch.Generator, outputs: int, inputs: int) -> Iterator[Groups]:
    """Yields a weight [outputs, inputs] of each kind of groups."""
    kinds: list[tuple[Bits, int, bool, torch.dtype]] = [
        (4, 32, True, torch.float16),
        (4, 32, False, torch.float16),
        (4, 32, True, torch.float32),
        (8, 32, False, torch.float16),
        (8, 32, True, torch.float16),
        (8, 32, True, torch.float32),
        (8, 16, False, torch.float32),
    ]
    for bits, size, minimum, dtype in kinds:
        q = torch.randint(256, (outputs, inputs // size, size * bits // 8), generator=generator).to(torch.uint8)
        d, m = torch.randn(2, outputs, inputs // size, generator=generator).to(dtype)
        yield Groups.of(q, d, m if minimum else None, bits)


def _is_close(actual: Tensor, expected: Tensor, close: float) -> bool:
    """Returns whether the largest difference is small; False if a number is NaN."""
    return bool((actual - expected).abs().max() <= close * expected.abs().max())
