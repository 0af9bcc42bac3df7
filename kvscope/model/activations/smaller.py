"""Compares a run with a smaller cache (K and V in fewer bits, or of fewer heads) with the original: runs both."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from kvscope.model.activations.lens import left_by
from kvscope.model.activations.losses import ROWS_AT_ONCE
from kvscope.model.activations.observe import observe
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.sampling import divergence
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.pieces import pause
from kvscope.model.small_cache import Form, SmallCache
from kvscope.model.transformer import Transformer

LOOKED_AT = 64
"""How many rows' attention is compared: the last ones."""


@dataclass(frozen=True, slots=True)
class Look:
    """One attention weight before (`was`) and after (`became`)."""

    layer: int
    head: int
    query: int
    key: int
    was: float
    became: float


@dataclass(frozen=True, slots=True)
class Loss:
    """By step: `kl`, Σ p · ln(p ÷ q) of the next token, in nats; `likeliest`, the likeliest token before and after."""

    bytes: int
    """Bytes of all positions in the smaller cache, by the sizes of its tensors."""
    furthest: Look
    """The attention weight that changed most."""
    kl: list[float]
    likeliest: list[tuple[int, int]]


def compared(transformer: Transformer, ids: list[int], steps: int, form: Form, device: str = "cpu") -> Loss:
    """Compares the predictions of the last `steps` rows of `ids` with K and V in `form` with those in float32.

    Both read the same tokens, so greedy answers would differ from the first step whose likeliest token differs.
    """
    blocks = -(-len(ids) // BLOCK_SIZE)
    capacity = blocks * BLOCK_SIZE
    plain = _look(Engine(transformer, capacity=capacity, device=device), ids, steps)
    cache = SmallCache(transformer.config, blocks, form, device)
    small = _look(Engine(transformer, capacity=capacity, device=device, cache=cache), ids, steps)
    kl: list[float] = []
    likeliest: list[tuple[int, int]] = []
    for rows in zip(plain[1].split(ROWS_AT_ONCE), small[1].split(ROWS_AT_ONCE), strict=True):  # type: ignore[no-untyped-call]
        pause()
        before, after = map(transformer.decode_rows, rows)
        kl += divergence(before, after).tolist()
        likeliest += zip(before.argmax(-1).tolist(), after.argmax(-1).tolist(), strict=True)
    return Loss(len(ids) * cache.position_bytes, _furthest(plain[0], small[0]), kl, likeliest)


def _look(engine: Engine, ids: list[int], steps: int) -> tuple[list[Tensor], Tensor]:
    """Returns each layer's attention [H, rows, T] in the last rows, and the last layer's output [steps, D]."""
    config = engine.transformer.config
    names = [f"blocks.{layer}.attn.weights" for layer in range(config.layers)]
    last = left_by(config.layers - 1)

    def form(name: str, value: Tensor) -> Tensor:
        return value[-steps:] if name == last else value.reshape(config.heads, *value.shape[-2:])[:, -LOOKED_AT:]

    observed = observe(engine, ids, 0, [*names, last], form=form)
    return [observed.values[name] for name in names], observed.values[last]


def _furthest(before: list[Tensor], after: list[Tensor]) -> Look:
    changes = [(b - a).abs() for b, a in zip(before, after, strict=True)]
    layer = max(range(len(changes)), key=lambda at: float(changes[at].max()))
    _, rows, keys = before[layer].shape
    head, rest = divmod(int(changes[layer].argmax()), rows * keys)
    row, key = divmod(rest, keys)
    was, became = (float(each[layer][head, row, key]) for each in (before, after))
    return Look(layer, head, keys - rows + row, key, was, became)
