"""Rows of K and V that are dropped while a text goes on: what stays is a choice, and all else is forgotten.

The first rows stay because much attention rests on them whatever they say (attention sinks, arXiv:2309.17453), the
newest because most of what matters is near, and a few that were looked at most (heavy hitters, H2O, arXiv:2306.14048).
H2O chooses for each head; here a row stays or goes in all layers and heads at once, as a paged cache has it. Rows keep
the positions at which their K was turned.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kvscope.model.config import ModelConfig
from kvscope.model.hooks import Observer
from kvscope.model.settings import Kept
from kvscope.model.transformer import Batch


def rows_kept(length: int, keeping: Kept, looked_at: Tensor | None) -> list[int] | None:
    """Which of `length` rows stay, in order; None where all do. `looked_at` [length]: the attention each has had."""
    if length <= keeping.rows:
        return None
    first, newest = range(keeping.sinks), range(length - keeping.recent, length)
    between = torch.arange(keeping.sinks, length - keeping.recent)
    heavy: list[int] = []
    if keeping.heavy and looked_at is not None:
        heavy = sorted(between[looked_at[between].topk(keeping.heavy).indices].tolist())
    return [*first, *heavy, *newest]


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
        self._weights.append(weights.sum(dim=(1, 2, 3)))  # B Hkv G Q K -> B K

    def rows(self, batch: Batch, lengths: Sequence[Sequence[int]]) -> list[Tensor]:
        """[K] of every sequence in batch order, summed over layers, heads and queries. `lengths` as in `make_batch`."""
        found = []
        for index, group_lengths in enumerate(lengths):
            # Hooks fire once per layer and group, layer by layer.
            total = torch.stack(self._weights[index :: len(batch.groups)]).sum(0).cpu()  # B K
            found += [total[place, :keys] for place, keys in enumerate(group_lengths)]
        return found
