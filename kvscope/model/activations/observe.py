"""Computes exact values at hook points again, for tokens that a run has already read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import Observer


@dataclass(frozen=True, slots=True)
class Observed:
    """Values at hook points, and the K and V in the cache after the pass."""

    values: dict[str, Tensor]
    """Values by hook point; the hook point's `shape` names the axes. T and Q are the observed rows."""
    cache: dict[int, tuple[Tensor, Tensor]]
    """K and V of all rows, [Hkv, K, Dh] each, by layer."""

    def block(self, layer: int) -> dict[str, Tensor]:
        """Returns the values of one block by their names in it, such as `attn.weights`."""
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
    """Returns the values of rows `first_query`… of `ids` at the hook points `names`, and K and V of layers `cache_of`.

    Only what `form(name, value)` returns of a value is stored. `keep`: leaves the rows in the cache until others need
    the room, so that the next call does not compute them again.

    Raises CacheFull, KeyError for an unknown hook point, and ValueError for a row that `ids` does not have.
    """
    values: dict[str, Tensor] = {}

    def observer(name: str) -> Observer:
        def take(value: Tensor) -> None:
            # A copy: a view would keep the whole tensor of the pass in memory.
            values[name] = form(name, value).clone(memory_format=torch.contiguous_format)

        return take

    with engine.replay(ids, first_query, {name: observer(name) for name in names}, keep=keep) as sequence:
        slots = engine.cache.slots(sequence)
        return Observed(values, {layer: engine.cache.read(layer, slots) for layer in cache_of})
