"""What a run's frames show of a forward pass: attention weights, the lengths of the new Q, K, V and residual rows.

`Capture` collects tensors from hook points while the model runs and does the arithmetic afterwards, once for all
layers, so that a captured step costs little more than an uncaptured one (tools/bench has the ratio).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from kvscope.model.companding import compand
from kvscope.model.config import ModelConfig
from kvscope.model.engine.experts import ChosenExperts
from kvscope.model.hooks import Observer
from kvscope.model.kv_cache import KVCache
from kvscope.model.transformer import Batch

LARGEST_F16 = float(np.finfo(np.float16).max)


@dataclass(frozen=True, slots=True)
class CapturedRows:
    """One run's part of one forward pass, on the CPU. Q: its new rows; K: keys up to the last of them."""

    first_query: int
    attention: np.ndarray
    """U8 [layers, H, Q, K], companded"""
    q_norm: np.ndarray
    """F16 [layers, H, Q], after RoPE"""
    k_norm: np.ndarray
    """F16 [layers, Hkv, Q]"""
    v_norm: np.ndarray
    residual_norm: np.ndarray
    """F16 [layers, Q]"""
    experts: np.ndarray | None = None
    """I32 [layers, Q, X], of a model with experts: those of each row, and …"""
    expert_shares: np.ndarray | None = None
    """… F16 [layers, Q, X], their shares"""


class Capture:
    """Collects one forward pass. Attach `observers` with `observing`, run the model, then ask `rows`."""

    def __init__(self, config: ModelConfig):
        self._config = config
        self._weights: list[Tensor] = []
        self._q: list[Tensor] = []
        self._residual: list[Tensor] = []
        self._borders: list[float] = []
        """Clock in seconds where the first layer begins, then where each ends."""

    @property
    def observers(self) -> dict[str, Observer]:
        """Observer by hook point name."""
        found: dict[str, Observer] = {"blocks.0.resid_in": self._enter}
        for layer in range(self._config.layers):
            found[f"blocks.{layer}.attn.q_rot"] = self._q.append
            found[f"blocks.{layer}.attn.weights"] = self._weights.append
            found[f"blocks.{layer}.resid_out"] = self._leave
        return found

    @property
    def layer_ms(self) -> tuple[float, ...]:
        """Milliseconds from each layer's first hook point to its last, by the host's clock.

        Where the device works behind the host's back, as CUDA does, that is not the layer's time.
        """
        return tuple((end - begin) * 1000 for begin, end in pairwise(self._borders))

    def _enter(self, rows: Tensor) -> None:
        self._borders.append(time.perf_counter())

    def _leave(self, rows: Tensor) -> None:
        self._borders.append(time.perf_counter())
        self._residual.append(rows)

    def rows(
        self,
        batch: Batch,
        lengths: Sequence[Sequence[int]],
        cache: KVCache,
        experts: ChosenExperts | None = None,
    ) -> list[CapturedRows]:
        """Every run's part, in batch order. `lengths[g][b]`: keys of run b of group g after this pass. `experts`: those
        of the pass, of a model that has some.

        K and V are measured where the pass has put them, in the cache.
        """
        q_norm = _norms(torch.stack(self._q)).swapaxes(1, 2)  # L H T
        kv_norm = _norms(cache.read_all(batch.slots))  # L 2 Hkv T
        residual_norm = _norms(torch.stack(self._residual))  # L T
        chosen = shares = None
        if experts is not None:
            of_rows, their = experts.rows()
            chosen, shares = of_rows.int().cpu().numpy(), their.half().cpu().numpy()  # L T X
        found = []
        for index, (group, group_lengths) in enumerate(zip(batch.groups, lengths, strict=True)):
            # Hooks fire once per layer and group, layer by layer.
            layers = self._weights[index :: len(batch.groups)]
            if group.queries == 1:
                companded = compand(torch.stack(layers))
            else:  # layer by layer, a long prompt's stay in the processor's cache between the four operations
                companded = torch.stack([compand(weights) for weights in layers])
            attention = companded.flatten(2, 3).cpu().numpy()  # L B H Q K
            for place, keys in enumerate(group_lengths):
                first = group.start + place * group.queries
                new = slice(first, first + group.queries)
                found.append(
                    CapturedRows(
                        first_query=keys - group.queries,
                        attention=attention[:, place, :, :, :keys],
                        q_norm=q_norm[:, :, new],
                        k_norm=kv_norm[:, 0, :, new],
                        v_norm=kv_norm[:, 1, :, new],
                        residual_norm=residual_norm[:, new],
                        experts=None if chosen is None else chosen[:, new],
                        expert_shares=None if shares is None else shares[:, new],
                    )
                )
        return found


def _norms(values: Tensor) -> np.ndarray:
    """F16 lengths along the last axis. Saturates rather than overflow to infinity."""
    norms: Tensor = torch.linalg.vector_norm(values, dim=-1).clamp_(max=LARGEST_F16)
    return norms.half().cpu().numpy()
