"""Captures attention weights and the lengths of new Q, K, V and residual rows for a run's frames.

`Capture` collects tensors at hook points and computes afterwards, once for all layers. So a captured step costs little
more than an uncaptured one (tools/bench measures the ratio).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
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
    """One run's part of one forward pass, on the CPU. Q: new rows; K: keys up to the last new row."""

    first_query: int
    attention: np.ndarray
    """U8 [layers, H, Q, K], companded"""
    q_norm: np.ndarray | None
    """F16 [layers, H, Q], after RoPE. This and the next three: None if another program did not return the rows"""
    k_norm: np.ndarray | None
    """F16 [layers, Hkv, Q]"""
    v_norm: np.ndarray | None
    residual_norm: np.ndarray | None
    """F16 [layers, Q]"""
    experts: np.ndarray | None = None
    """I32 [layers, Q, X]: the experts of each row; None if the model has no experts"""
    expert_shares: np.ndarray | None = None
    """F16 [layers, Q, X]: the shares of `experts`"""


class Capture:
    """Captures one forward pass. Attach `observers` with `observing`, run the model, then call `values`."""

    def __init__(self, config: ModelConfig):
        self._config = config
        self._weights: list[Tensor] = []
        self._q: list[Tensor] = []
        self._residual: list[Tensor] = []
        self._borders: list[float] = []
        """Clock time in seconds at the start of the first layer, then at the end of each layer."""

    @property
    def observers(self) -> dict[str, Observer]:
        """Observers by hook point name."""
        observers: dict[str, Observer] = {"blocks.0.resid_in": self._enter}
        for layer in range(self._config.layers):
            observers[f"blocks.{layer}.attn.q_rot"] = self._q.append
            observers[f"blocks.{layer}.attn.weights"] = self._weights.append
            observers[f"blocks.{layer}.resid_out"] = self._leave
        return observers

    @property
    def layer_ms(self) -> tuple[float, ...]:
        """Milliseconds from each layer's first hook point to its last, by the host's clock.

        CUDA works asynchronously, so there these are not the layers' times.
        """
        return tuple((end - begin) * 1000 for begin, end in pairwise(self._borders))

    def _enter(self, rows: Tensor) -> None:
        self._borders.append(time.perf_counter())

    def _leave(self, rows: Tensor) -> None:
        self._borders.append(time.perf_counter())
        self._residual.append(rows)

    def values(self, batch: Batch, cache: KVCache) -> list[Tensor]:
        """Computes what frames show of the pass, without waiting for the device: F16 lengths of Q [L, T, H], of K and V
        in the cache [L, 2, Hkv, T] and of the residual rows [L, T]; then each group's attention U8 [L, B, H, Q, K].
        """
        attention = []
        for index, group in enumerate(batch.groups):
            # Hooks fire once per layer and group, layer by layer.
            layers = self._weights[index :: len(batch.groups)]
            if group.queries == 1:
                companded = compand(torch.stack(layers))
            else:  # one layer of a long prompt stays in the processor's cache between the four operations
                companded = torch.stack([compand(weights) for weights in layers])
            attention.append(companded.flatten(2, 3))
        rows = torch.stack(self._q), cache.read_all(batch.slots), torch.stack(self._residual)
        return [*map(lengths, rows), *attention]


def captured_rows(
    batch: Batch, q_norm: np.ndarray, kv_norm: np.ndarray, residual_norm: np.ndarray, *attention: np.ndarray
) -> list[CapturedRows]:
    """Returns every run's part, in batch order, from `Capture.values`. The attention may have more keys than needed."""
    captured = []
    for group, weights in zip(batch.groups, attention, strict=True):
        for place, keys in enumerate(group.lengths):
            first = group.start + place * group.queries
            new = slice(first, first + group.queries)
            captured.append(
                CapturedRows(
                    first_query=keys - group.queries,
                    attention=weights[:, place, :, :, :keys],
                    q_norm=q_norm[:, new].swapaxes(1, 2),
                    k_norm=kv_norm[:, 0, :, new],
                    v_norm=kv_norm[:, 1, :, new],
                    residual_norm=residual_norm[:, new],
                )
            )
    return captured


def with_experts(captured: list[CapturedRows], batch: Batch, experts: ChosenExperts) -> list[CapturedRows]:
    """Returns every run's part, in batch order, with the experts of its rows."""
    ids, all_shares = experts.rows()
    chosen, shares = ids.int().cpu().numpy(), all_shares.half().cpu().numpy()  # L T X
    starts = (group.start + place * group.queries for group in batch.groups for place in range(group.sequences))
    news = (slice(start, start + rows.attention.shape[2]) for start, rows in zip(starts, captured, strict=True))
    return [
        replace(rows, experts=chosen[:, new], expert_shares=shares[:, new])
        for rows, new in zip(captured, news, strict=True)
    ]


def lengths(values: Tensor) -> Tensor:
    """Returns F16 lengths along the last axis, at most LARGEST_F16 so that none becomes infinity."""
    norms: Tensor = torch.linalg.vector_norm(values, dim=-1).clamp_(max=LARGEST_F16)
    return norms.half()
