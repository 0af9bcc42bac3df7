"""Runs variants of the model to show what the mask, positions and the cache change."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kvscope.model.activations.observe import observe
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.conditions import Watch, conditions_record
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.runner import InPieces
from kvscope.model.hooks import Observer, hook_points, observing
from kvscope.model.kv_cache import BLOCK_SIZE, KVCache, Sequence
from kvscope.model.pieces import pause
from kvscope.model.transformer import Batch, Transformer

TAKES = 3
PART_BYTES = 32 * 2**20
"""How many bytes are read between two pauses."""
PAIRS = 4
"""How many pairs of a head's numbers are listed one by one."""


@dataclass(frozen=True, slots=True)
class Appended:
    """How much the last token changed the rows before it: the largest ‖change‖ ÷ ‖row‖ of their K and V."""

    by_layer: list[float]
    by_position: list[float]
    logits: Tensor
    """[V], of the last row."""


@dataclass(frozen=True, slots=True)
class Turned:
    """One token alone at two positions. `changes`: by hook point, ‖difference‖ ÷ ‖value‖ in one head; `pairs`: the
    first pairs of its q, (i, i + Dh/2), before RoPE and at each position.
    """

    changes: dict[str, float]
    pairs: list[list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes of all hook points' values and of K and V, and the milliseconds that reading them once takes."""

    everything: int
    kv: int
    everything_ms: float
    kv_ms: float
    conditions: dict[str, Any]
    """The conditions of both times (docs/frames.md)."""


def appended(transformer: Transformer, ids: list[int], *, masked: bool, device: str = "cpu") -> Appended:
    """Computes how much the last of `ids` changes the rows before it; without the mask they can attend to it."""
    (before, _), (after, logits) = (_whole_pass(transformer, each, masked, device) for each in (ids[:-1], ids))
    change = (after[:, :, :, :-1] - before).norm(dim=-1) / before.norm(dim=-1).clamp_min(1e-12)  # L 2 Hkv T
    return Appended(change.amax(dim=(1, 2, 3)).tolist(), change.amax(dim=(0, 1, 2)).tolist(), logits)


def _whole_pass(transformer: Transformer, ids: list[int], masked: bool, device: str) -> tuple[Tensor, Tensor]:
    """Returns K and V of every layer [L, 2, Hkv, T, Dh], and the last row's logits [V]."""
    cache, slots, batch = _by_itself(transformer, ids, device)
    blocks = InPieces(transformer, len(ids)).blocks
    if not masked:
        batch = replace(batch, groups=tuple(replace(group, hidden=None, far=None) for group in batch.groups))
    logits: Tensor = transformer(batch, cache, blocks=blocks)
    pause()
    return cache.read_all(slots), logits[-1]


def _by_itself(
    transformer: Transformer, ids: list[int], device: str, position: int = 0
) -> tuple[KVCache, Tensor, Batch]:
    """Returns a new cache, these tokens' slots in it, and a batch of them; the first token is at `position`."""
    cache, sequence = KVCache(transformer.config, -(-len(ids) // BLOCK_SIZE), device), Sequence()
    slots = cache.extend(sequence, len(ids))
    entry = Entry(ids, 0, slots, slots, forgotten=position)
    batch, _ = make_batch([entry], transformer.config.window)
    return cache, slots, batch.to(device)


def turned(
    transformer: Transformer, token: int, positions: tuple[int, int], layer: int, head: int, device: str = "cpu"
) -> Turned:
    """Computes how q, k and v of one token alone differ between two positions, before and after RoPE."""
    config = transformer.config
    kv_head = head // config.group
    first, second = (_alone(transformer, token, position, layer, device) for position in positions)
    heads = {name: kv_head if name in ("attn.k", "attn.k_rot", "attn.v") else head for name in first}
    one, other = ({name: each[name][0, heads[name]] for name in each} for each in (first, second))
    changes = {name: float((one[name] - other[name]).norm() / one[name].norm().clamp_min(1e-12)) for name in one}
    half = config.head_dim // 2
    vectors = (one["attn.q"], one["attn.q_rot"], other["attn.q_rot"])
    pairs = [[(float(q[at]), float(q[at + half])) for q in vectors] for at in range(min(PAIRS, half))]
    return Turned(changes, pairs)


def _alone(transformer: Transformer, token: int, position: int, layer: int, device: str) -> dict[str, Tensor]:
    """Returns one layer's q, k and v [1, heads, Dh] of a token at `position` that attends only to itself."""
    cache, _, batch = _by_itself(transformer, [token], device, position)
    values: dict[str, Tensor] = {}

    def observer(name: str) -> Observer:
        def take(value: Tensor) -> None:
            values[name] = value.clone()

        return take

    names = ("attn.q", "attn.k", "attn.q_rot", "attn.k_rot", "attn.v")
    with (
        torch.inference_mode(),
        observing(hook_points(transformer), {f"blocks.{layer}.{name}": observer(name) for name in names}),
    ):
        transformer(batch, cache)
    return values


def everything(engine: Engine, ids: list[int]) -> Kept:
    """Measures all hook points' values, and K and V, of the rows before the last of `ids`. Raises CacheFull."""
    old = ids[:-1]
    sizes: dict[str, int] = {}

    def size(name: str, value: Tensor) -> Tensor:
        sizes[name] = value.nbytes
        return value.new_zeros(0)

    observe(engine, old, 0, engine.runner.points, form=size)
    everything, kv = sum(sizes.values()), len(old) * engine.cache.position_bytes
    watch = Watch()
    everything_ms, kv_ms = (_reading_ms(count, engine.cache.pool.device) for count in (everything, kv))
    return Kept(everything, kv, everything_ms, kv_ms, conditions_record(watch.conditions()))


def _reading_ms(count: int, device: torch.device) -> float:
    """Returns the milliseconds of reading so many bytes once: the best of `TAKES`."""
    buffer = torch.empty(max(1, count // 4), device=device)
    parts = buffer.split(PART_BYTES // buffer.itemsize)  # type: ignore[no-untyped-call]
    for part in parts:
        part.fill_(1.0)
        pause()
    return min(sum(_reading_part_ms(part) for part in parts) for _ in range(TAKES))


def _reading_part_ms(part: Tensor) -> float:
    pause()
    started = time.perf_counter()
    part.sum().item()
    return (time.perf_counter() - started) * 1000
