"""What a run's frames show of a forward pass: attention weights, and the lengths of the new K, V and residual rows.

`Capture` collects tensors from hook points while the model runs and does the arithmetic afterwards, once for all
layers, so that a captured step costs little more than an uncaptured one (tests/bench has the ratio).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.config import ModelConfig
from model.hooks import Observer
from model.kv_cache import KVCache
from model.transformer import Batch

LARGEST_F16 = float(np.finfo(np.float16).max)


@dataclass(frozen=True, slots=True)
class CapturedRows:
    """One run's part of one forward pass, on the CPU. Q: its new rows; K: keys up to the last of them."""

    first_query: int
    attention: np.ndarray
    """U8 [layers, H, Q, K], companded"""
    k_norm: np.ndarray
    """F16 [layers, Hkv, Q]"""
    v_norm: np.ndarray
    residual_norm: np.ndarray
    """F16 [layers, Q]"""


def compand(weights: Tensor) -> Tensor:
    """U8 `round(255·√w)` of weights in [0, 1]: absolute error below 0.004 everywhere, below 1e-5 near zero."""
    return weights.sqrt().mul_(255).round_().to(torch.uint8)


def expand(companded: np.ndarray) -> np.ndarray:
    """Float32 weights `(u/255)²` of companded ones."""
    return (companded.astype(np.float32) / 255) ** 2


class Capture:
    """Collects one forward pass. Attach `observers` with `observing`, run the model, then ask `rows`."""

    def __init__(self, config: ModelConfig):
        self._config = config
        self._weights: list[Tensor] = []
        self._residual: list[Tensor] = []

    @property
    def observers(self) -> dict[str, Observer]:
        """Observer by hook point name."""
        found: dict[str, Observer] = {}
        for layer in range(self._config.layers):
            found[f"blocks.{layer}.attn.weights"] = self._weights.append
            found[f"blocks.{layer}.resid_out"] = self._residual.append
        return found

    def rows(self, batch: Batch, lengths: Sequence[Sequence[int]], cache: KVCache) -> list[CapturedRows]:
        """Every run's part, in batch order. `lengths[g][b]`: keys of run b of group g after this pass.

        K and V are measured where the pass has put them, in the cache.
        """
        kv_norm = _norms(cache.read_all(batch.slots))  # L 2 Hkv T
        residual_norm = _norms(torch.stack(self._residual))  # L T
        found = []
        for index, (group, group_lengths) in enumerate(zip(batch.groups, lengths, strict=True)):
            # Hooks fire once per layer and group, layer by layer.
            # Layer by layer, a long prompt's weights stay in the processor's cache between the four operations.
            layers = [compand(weights) for weights in self._weights[index :: len(batch.groups)]]
            attention = torch.stack(layers).flatten(2, 3).cpu().numpy()  # L B H Q K
            for place, keys in enumerate(group_lengths):
                first = group.start + place * group.queries
                new = slice(first, first + group.queries)
                found.append(
                    CapturedRows(
                        first_query=keys - group.queries,
                        attention=attention[:, place, :, :, :keys],
                        k_norm=kv_norm[:, 0, :, new],
                        v_norm=kv_norm[:, 1, :, new],
                        residual_norm=residual_norm[:, new],
                    )
                )
        return found


def _norms(values: Tensor) -> np.ndarray:
    """F16 lengths along the last axis. Saturates rather than overflow to infinity."""
    norms: Tensor = values.norm(dim=-1).clamp_(max=LARGEST_F16)
    return norms.half().cpu().numpy()
