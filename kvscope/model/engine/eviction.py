"""Drops rows of K and V from a run's cache as its text grows.

The first rows stay because they get much attention whatever the text is (attention sinks, arXiv:2309.17453), the newest
because most relevant tokens are near, and the rows that got the most attention (heavy hitters, H2O, arXiv:2306.14048).
H2O chooses per head. A run with `apart` chooses per layer and KV head; other runs keep or drop a row in all of them at
once, as a paged cache does. The K of a row stays rotated for its position in the text; StreamingLLM rotates it again
for its place in the cache.
"""

from __future__ import annotations

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
"""How many first positions stay as attention sinks, as in StreamingLLM."""


def staying(policy: Policy, budget: int) -> Kept:
    """Returns how many rows stay under a policy: the newest; the first SINKS and the newest; or half newest, half heavy
    hitters. At least the newest row stays.
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


def most_shared(ids: list[int], prompt_length: int, keeping: Kept | None) -> int:
    """Returns how many rows of `ids` a run may share with other runs, whatever these are, without a change of its text.

    Rows after the prompt are computed from those that stayed. Of heavy hitters, all rows count the attention.
    """
    if keeping is None:
        return len(ids) - 1
    return 0 if keeping.heavy else prompt_length - 1


def rows_kept(length: int, keeping: Kept, looked_at: Tensor | None) -> Tensor | None:
    """Returns the indices of the rows that stay, in order: [n] or [layers, Hkv, n]; None if all `length` rows stay.
    `looked_at`: the attention that each row got, [length], or [layers, Hkv, length] if each layer and KV head chooses.
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


def look(run: Run, attention: Tensor) -> None:
    """Adds the attention [layers, Hkv, keys] of a pass to the totals of the run's rows.

    Rows of wrong guesses were dropped since the previous pass.
    """
    attention = attention if run.apart else attention.sum((0, 1))
    if run.looked_at is not None:
        rows = min(run.looked_at.shape[-1], attention.shape[-1])
        attention[..., :rows] += run.looked_at[..., :rows]
    run.looked_at = attention


def evict(run: Run, cache: KVCache) -> None:
    """Drops the rows of a run that do not stay. Raises CacheFull and then changes nothing."""
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
    """Sums the attention that each row gets in one pass. Attach `observers`, run the model, then call `rows`."""

    def __init__(self, config: ModelConfig):
        self._layers = config.layers
        self._weights: list[Tensor] = []

    @property
    def observers(self) -> dict[str, Observer]:
        """Observers by hook point name."""
        return {f"blocks.{layer}.attn.weights": self._take for layer in range(self._layers)}

    def _take(self, weights: Tensor) -> None:
        self._weights.append(weights.sum(dim=(2, 3)))  # B Hkv G Q K -> B Hkv K

    def rows(self, batch: Batch) -> list[Tensor]:
        """Returns [layers, Hkv, K] for each sequence in batch order, summed over queries and over the heads that read a
        KV head.
        """
        sums = []
        for index, group in enumerate(batch.groups):
            # Hooks fire once per layer and group, layer by layer.
            total = torch.stack(self._weights[index :: len(batch.groups)]).cpu()  # L B Hkv K
            sums += [total[:, place, :, :keys] for place, keys in enumerate(group.lengths)]
        return sums
