"""The next-token distribution in a frame: the best logits exactly, the rest as a histogram.

A page can apply any temperature to the whole vocabulary from both. The top tokens are exact. Each histogram bin counts
as its centre, which changes the mass of the rest by a factor of at most 1 ± (bin width / temperature)² / 24, averaged
over a bin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kvscope.model.engine.packing import on_host

TOP = 256
TAIL_BINS = 256


@dataclass(frozen=True, slots=True)
class Candidates:
    """`ids` I32 [n] and `logits` F32 [n], best first; `tail_counts` I32 [256] over [`tail_low`, `tail_high`]."""

    ids: np.ndarray
    logits: np.ndarray
    tail_counts: np.ndarray
    tail_low: float
    tail_high: float

    @property
    def tail_size(self) -> int:
        return int(self.tail_counts.sum())


def best_and_rest(logits: Tensor) -> list[Tensor]:
    """Computes the candidates of each row of finite logits [N, V] without waiting for the device: the smallest logit
    F32 [N], the best logits F32 [N, n] and their ids I32 [N, n], and the counts I32 [N, 256].
    """
    best, ids = logits.topk(min(TOP, logits.shape[-1]))
    low, high = logits.amin(-1, keepdim=True), best[:, -1:]
    # No division by a bin's width: it may be too small for float32.
    bins = (logits - low).div_(high - low).mul_(TAIL_BINS).int().clamp_(0, TAIL_BINS - 1)
    bins.masked_fill_(low == high, TAIL_BINS - 1)
    bins.scatter_(1, ids, TAIL_BINS - 1)  # the best are subtracted from this bin below
    counts = bins.new_zeros(len(bins), TAIL_BINS).scatter_add_(1, bins.long(), torch.ones_like(bins))
    counts[:, -1] -= ids.shape[-1]
    return [low.squeeze(-1), best.float(), ids.int(), counts]


def candidates_of(low: np.ndarray, best: np.ndarray, ids: np.ndarray, counts: np.ndarray) -> list[Candidates]:
    """Returns the candidates of each row, from the values that `best_and_rest` computes."""
    ends = zip(low.tolist(), best[:, -1].tolist(), strict=True)
    return [
        Candidates(ids[row], best[row], counts[row], *(both if counts[row].any() else (0.0, 0.0)))
        for row, both in enumerate(ends)
    ]


def candidates(logits: Tensor) -> Candidates:
    """Returns the candidates from finite logits [V]."""
    return candidates_of(*on_host(best_and_rest(logits[None])))[0]
