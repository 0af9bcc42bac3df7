"""Compares all functions of the native code with torch at each start, on small random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CDLL
from dataclasses import asdict, replace

import torch
from torch import Tensor

from kvscope.model.compiler import Unavailable
from kvscope.model.config import ARCHITECTURES, ModelConfig
from kvscope.model.engine.distribution import NotFinite
from kvscope.model.engine.engine import Engine
from kvscope.model.grouped import Bits, Groups
from kvscope.model.hooks import hook_points
from kvscope.model.kv_cache import BLOCK_SIZE, Sequence
from kvscope.model.linear import Products, plain_product
from kvscope.model.native.steps import CAPTURED, NativeSteps
from kvscope.model.transformer import Transformer, Weight

CLOSE = 1e-5
"""Largest difference of a native product from torch's, relative to the largest |number| …"""
CLOSE_IN_A_STEP = 5e-3
"""… and of a value of a whole pass: attention in a frame has 256 steps, and lengths have 11 bits."""
OUTPUTS = 37
LENGTHS = (20, 1, 13)
"""Lengths of the sequences in the comparison of a pass."""
_TINY = ModelConfig(ARCHITECTURES[0], layers=2, heads=4, kv_heads=2, head_dim=8, d=32, d_mlp=64, vocab=8, context=64)


def compare_products(products: Products) -> None:
    """Compares products of all kinds of groups with few and many rows. Raises Unavailable if one differs."""
    generator = torch.Generator().manual_seed(0)
    for weight in _kinds(generator, OUTPUTS, 96):
        for count in (1, 2, 5, 8, 40):
            rows, bias = (torch.randn(*shape, generator=generator) for shape in ((count, weight.inputs), (OUTPUTS,)))
            expected = plain_product((weight,), bias)(rows)
            if not _is_close(products((weight,), bias)(rows), expected, CLOSE):
                raise Unavailable(f"its products with {weight.format} are not torch's")


def compare_steps(library: CDLL) -> None:
    """Compares whole passes: all values at hook points, what frames show, the distribution, and K and V, in models with
    and without the optional parts. Raises Unavailable if one differs.
    """
    for config in _configs():
        generator = torch.Generator().manual_seed(0)
        transformer = Transformer.from_weights(config, dict(_weights(config, generator)))
        expected = _values(transformer, None)
        try:
            actual = _values(transformer, library)
        except NotFinite as error:
            raise Unavailable(f"its step is not torch's: {error}") from error
        for name, value in expected.items():
            if not _is_close(actual[name], value, CLOSE_IN_A_STEP):
                raise Unavailable(f"its step is not torch's: {name}")


def _values(transformer: Transformer, library: CDLL | None) -> dict[str, Tensor]:
    """Returns all values of passes of several sequences: first some rows of each together, then one more of each."""
    points = hook_points(transformer)
    engine = Engine(transformer, capacity=BLOCK_SIZE * 16)
    if library is not None:
        engine.runner.steps = NativeSteps(library, transformer, engine.cache)
    shown: dict[str, Tensor] = {}
    sequences = [Sequence() for _ in LENGTHS]
    for count in (None, 1):
        entries = [
            engine.scheduler.entry(sequence, [(7 * place + length) % 8 for place in range(count or length)])
            for sequence, length in zip(sequences, LENGTHS, strict=True)
        ]
        seen: dict[str, list[Tensor]] = {name: [] for name in points}
        done = engine.runner.run(entries, {name: seen[name].append for name in seen}, capture=True)
        if library is not None and done.by != "native":
            raise Unavailable("it cannot compute a step")
        for name, values in seen.items():
            shown |= {f"{name} {index} of pass {count}": value for index, value in enumerate(values)}
        shown[f"logits of pass {count}"] = done.logits
        for place, (captured, distribution) in enumerate(zip(done.captured, done.distributions, strict=True)):
            about = {name: getattr(captured, name) for name in CAPTURED.values()} | asdict(distribution.summary)
            about |= {"top": distribution.candidates.logits}
            shown |= {f"{name} {place} of pass {count}": torch.as_tensor(value) for name, value in about.items()}
    shown["K and V"] = engine.cache.read_all(torch.cat([engine.cache.slots(sequence) for sequence in sequences]))
    return {name: value.float() for name, value in shown.items()}


def _configs() -> Iterator[ModelConfig]:
    """Yields small models that together have every part that the native code has."""
    yield _TINY
    yield replace(_TINY, qkv_bias=True, out_bias=True, mlp_bias=True, qk_norm=True, window=9, global_layers=(1,))
    yield replace(_TINY, mlp="geglu", post_norms=True, qk_norm=True, embedding_scale=3.0, score_width=5.0, window=7)
    yield replace(_TINY, mlp="gelu", norm="layer", positions="learned", qkv_bias=True, out_bias=True, mlp_bias=True)
    yield replace(_TINY, experts=5, experts_chosen=2, d_expert=32, shares_normalized=True, dense_layers=(1,))


def _weights(config: ModelConfig, generator: torch.Generator) -> Iterator[tuple[str, Weight]]:
    """Yields random weights by name; matrices of blocks are in groups of 4 bits."""
    with torch.device("meta"):
        tensors = Transformer(config).state_dict()
    for name, like in tensors.items():
        if like.dim() == 2 and name != "positions.weight":
            groups = next(_kinds(generator, *like.shape))
            assert groups.d is not None
            yield name, (replace(groups, d=groups.d * 0.02),)
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
