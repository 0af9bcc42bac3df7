"""Rows of K and V that are dropped while a text goes on: what stays is a choice, and all else is forgotten.

The first rows stay because much attention rests on them whatever they say (attention sinks, arXiv:2309.17453), the
newest because most of what matters is near, and a few that were looked at most (heavy hitters, H2O, arXiv:2306.14048).
H2O chooses for each head. So does a run whose rows are dropped `apart`: for each layer and KV head by itself. Of any
other, a row stays or goes in all of them at once, as a paged cache has it. Rows keep the positions at which their K was
turned; StreamingLLM turns them anew, by their places in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import torch
from torch import Tensor

from kvscope.model.api import Policy
from kvscope.model.config import ModelConfig
from kvscope.model.engine.run import Run
from kvscope.model.hooks import Observer
from kvscope.model.kv_cache import KVCache
from kvscope.model.settings import Kept
from kvscope.model.transformer import Batch

SINKS = 4
"""First positions that are kept as attention sinks, as StreamingLLM does."""


def staying(policy: Policy, budget: int) -> Kept:
    """How many rows stay, by policy: the newest; the first 4 and the newest; or half newest, half heavy hitters.

    At least the newest one stays.
    """
    sinks = heavy = 0
    match policy:
        case "window":
            pass
        case "sinks":
            sinks = min(SINKS, budget - 1)
        case "heavy":
            heavy = budget // 2
        case unknown:
            assert_never(unknown)
    return Kept(sinks=sinks, heavy=heavy, recent=budget - sinks - heavy)


def rows_kept(length: int, keeping: Kept, looked_at: Tensor | None) -> Tensor | None:
    """Which of `length` rows stay, in order; None where all do. `looked_at`: the attention each has had, [length], or
    [layers, Hkv, length] where each layer and KV head keeps its own. The result is [n], or [layers, Hkv, n].
    """
    if length <= keeping.rows:
        return None
    first, newest = torch.arange(keeping.sinks), torch.arange(length - keeping.recent, length)
    if not keeping.heavy or looked_at is None:
        return torch.cat((first, newest))
    between = looked_at[..., keeping.sinks : length - keeping.recent]
    heavy = between.topk(keeping.heavy).indices.sort().values + keeping.sinks
    each = (*looked_at.shape[:-1], -1)
    return torch.cat((first.expand(each), heavy, newest.expand(each)), dim=-1)


def look(run: Run, got: Tensor) -> None:
    """Add the attention `got` [layers, Hkv, keys] in a pass to what the run's rows have had.

    Rows of guesses that were wrong have gone since the pass before.
    """
    got = got if run.apart else got.sum((0, 1))
    if run.looked_at is not None:
        had = min(run.looked_at.shape[-1], got.shape[-1])
        got[..., :had] += run.looked_at[..., :had]
    run.looked_at = got


def evict(run: Run, cache: KVCache) -> None:
    """Drop the rows of a run that do not stay. Raises CacheFull, changing nothing."""
    if run.keeping is None:
        return
    rows = rows_kept(run.sequence.length, run.keeping, run.looked_at)
    if rows is None:
        return
    where, dropped = run.where, run.sequence.length - rows.shape[-1]
    cache.select(run.sequence, rows)
    run.forgotten += dropped
    run.stayed = where.expand(*rows.shape[:-1], -1).take_along_dim(rows, dim=-1)
    if run.looked_at is not None:
        run.looked_at = run.looked_at.take_along_dim(rows, dim=-1)


class LookedAt:
    """How much attention each row gets in one forward pass. Attach `observers`, run the model, then ask `rows`."""

    def __init__(self, config: ModelConfig):
        self._layers = config.layers
        self._weights: list[Tensor] = []

    @property
    def observers(self) -> dict[str, Observer]:
        """Observer by hook point name."""
        return {f"blocks.{layer}.attn.weights": self._take for layer in range(self._layers)}

    def _take(self, weights: Tensor) -> None:
        self._weights.append(weights.sum(dim=(2, 3)))  # B Hkv G Q K -> B Hkv K

    def rows(self, batch: Batch, lengths: Sequence[Sequence[int]]) -> list[Tensor]:
        """[layers, Hkv, K] of every sequence in batch order, summed over queries and the heads that read a KV head.

        `lengths` as in `make_batch`.
        """
        found = []
        for index, group_lengths in enumerate(lengths):
            # Hooks fire once per layer and group, layer by layer.
            total = torch.stack(self._weights[index :: len(batch.groups)]).cpu()  # L B Hkv K
            found += [total[:, place, :, :keys] for place, keys in enumerate(group_lengths)]
        return found
