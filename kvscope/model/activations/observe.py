"""Exact values at hook points, computed again for tokens that a run has already seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import Observer


@dataclass(frozen=True, slots=True)
class Observed:
    """What passed the hook points that were named, and what the cache then held."""

    values: dict[str, Tensor]
    """By hook point, whose `shape` names the axes; T and Q are the rows that were asked for."""
    cache: dict[int, tuple[Tensor, Tensor]]
    """K and V of all rows, [Hkv, K, Dh] each, by layer."""

    def block(self, layer: int) -> dict[str, Tensor]:
        """What is of one block, by the name it has there, such as `attn.weights`."""
        prefix = f"blocks.{layer}."
        return {name.removeprefix(prefix): value for name, value in self.values.items() if name.startswith(prefix)}


def observe(
    engine: Engine,
    ids: list[int],
    first_query: int,
    names: Iterable[str],
    *,
    cache_of: Iterable[int] = (),
    form: Callable[[str, Tensor], Tensor] = lambda name, value: value,
    keep: bool = False,
) -> Observed:
    """What rows `first_query`… of `ids` have at the hook points `names`, and the cache of the layers `cache_of`.

    `form(name, value)` says what of a value is wanted, while it passes: no more than that is held. `keep`: leave the
    rows in the cache until others need the room, so that the next look does not compute them again.

    Raises CacheFull, KeyError for a hook point that is not there, and ValueError for a row that `ids` does not have.
    """
    values: dict[str, Tensor] = {}

    def observer(name: str) -> Observer:
        def take(value: Tensor) -> None:
            # A copy: a view would hold all that the pass computed with it.
            values[name] = form(name, value).clone(memory_format=torch.contiguous_format)

        return take

    with engine.replay(ids, first_query, {name: observer(name) for name in names}, keep=keep) as sequence:
        slots = engine.cache.slots(sequence)
        return Observed(values, {layer: engine.cache.read(layer, slots) for layer in cache_of})
