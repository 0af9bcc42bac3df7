"""What would be otherwise in another model: each is really run, beside the run as it was."""

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
"""Read between two pauses."""
PAIRS = 4
"""Of a head's numbers, that are told one by one."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What the last token changed of the rows before it: ‖change‖ ÷ ‖row‖ of a row of K or V, the largest."""

    by_layer: list[float]
    by_position: list[float]
    logits: Tensor
    """[V], of the last row"""


@dataclass(frozen=True, slots=True)
class Turned:
    """One token alone at two positions. `changes`: by hook point, ‖difference‖ ÷ ‖value‖ in one head; `pairs`: what the
    first pairs of its q, (i, i + Dh/2), are before and at either position.
    """

    changes: dict[str, float]
    pairs: list[list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes, and milliseconds that merely reading them takes."""

    everything: int
    kv: int
    everything_ms: float
    kv_ms: float
    conditions: dict[str, Any]
    """Of both times (docs/frames.md)."""


def appended(transformer: Transformer, ids: list[int], *, masked: bool, device: str = "cpu") -> Appended:
    """What the last of `ids` changes of the rows before it; without the mask they may look at it."""
    (before, _), (after, logits) = (_whole_pass(transformer, each, masked, device) for each in (ids[:-1], ids))
    change = (after[:, :, :, :-1] - before).norm(dim=-1) / before.norm(dim=-1).clamp_min(1e-12)  # L 2 Hkv T
    return Appended(change.amax(dim=(1, 2, 3)).tolist(), change.amax(dim=(0, 1, 2)).tolist(), logits)


def _whole_pass(transformer: Transformer, ids: list[int], masked: bool, device: str) -> tuple[Tensor, Tensor]:
    """K and V of every layer [L, 2, Hkv, T, Dh], and the last row's logits [V]."""
    cache, slots, batch = _by_itself(transformer, ids, device)
    stand_in = InPieces(transformer, len(ids))
    if not masked:
        batch = replace(batch, groups=tuple(replace(group, visible=None, near=None) for group in batch.groups))
    logits: Tensor = transformer(batch, cache, stand_in=stand_in)
    pause()
    return cache.read_all(slots), logits[-1]


def _by_itself(
    transformer: Transformer, ids: list[int], device: str, position: int = 0
) -> tuple[KVCache, Tensor, Batch]:
    """A cache for these tokens alone, their slots in it, and the batch of them; the first stands at `position`."""
    cache, sequence = KVCache(transformer.config, -(-len(ids) // BLOCK_SIZE), device), Sequence()
    slots = cache.extend(sequence, len(ids))
    entry = Entry(ids, 0, slots, slots, forgotten=position)
    batch, _, _ = make_batch([entry], device, transformer.config.window)
    return cache, slots, batch


def turned(
    transformer: Transformer, token: int, positions: tuple[int, int], layer: int, head: int, device: str = "cpu"
) -> Turned:
    """What a position changes of a token that stands alone: of q and k where they are turned, and of v."""
    config = transformer.config
    kv_head = head // config.group
    first, second = (_alone(transformer, token, position, layer, device) for position in positions)
    heads = {name: kv_head if name in ("attn.k", "attn.k_rot", "attn.v") else head for name in first}
    mine = [{name: each[name][0, heads[name]] for name in each} for each in (first, second)]
    changes = {
        name: float((value - mine[1][name]).norm() / value.norm().clamp_min(1e-12)) for name, value in mine[0].items()
    }
    half = config.head_dim // 2
    told = (mine[0]["attn.q"], mine[0]["attn.q_rot"], mine[1]["attn.q_rot"])
    pairs = [[(float(q[at]), float(q[at + half])) for q in told] for at in range(min(PAIRS, half))]
    return Turned(changes, pairs)


def _alone(transformer: Transformer, token: int, position: int, layer: int, device: str) -> dict[str, Tensor]:
    """One layer's q, k and v [1, heads, Dh] of a token that sees itself alone, at a position of a text."""
    cache, _, batch = _by_itself(transformer, [token], device, position)
    seen: dict[str, Tensor] = {}

    def observer(name: str) -> Observer:
        def take(value: Tensor) -> None:
            seen[name] = value.clone()

        return take

    names = ("attn.q", "attn.k", "attn.q_rot", "attn.k_rot", "attn.v")
    with (
        torch.inference_mode(),
        observing(hook_points(transformer), {f"blocks.{layer}.{name}": observer(name) for name in names}),
    ):
        transformer(batch, cache)
    return seen


def everything(engine: Engine, ids: list[int]) -> Kept:
    """What all the rows before the last of `ids` left at every hook point, and K and V of them. Raises CacheFull."""
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
    """What reading so many bytes takes, once: the best of three."""
    held = torch.empty(max(1, count // 4), device=device)
    parts = held.split(PART_BYTES // held.itemsize)  # type: ignore[no-untyped-call]
    for part in parts:
        part.fill_(1.0)
        pause()
    return min(sum(_reading_part_ms(part) for part in parts) for _ in range(TAKES))


def _reading_part_ms(part: Tensor) -> float:
    pause()
    started = time.perf_counter()
    part.sum().item()
    return (time.perf_counter() - started) * 1000
