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


def candidates(logits: Tensor) -> Candidates:
    """Returns the candidates from finite logits [V]."""
    best, ids = logits.topk(min(TOP, len(logits)))
    counts, low, high = np.zeros(TAIL_BINS, np.int32), 0.0, 0.0
    if len(best) < len(logits):
        low, high = float(logits.min()), float(best[-1])
        if low < high:
            # No division by a bin's width: it may be too small for float32.
            bins = (logits - low).div_(high - low).mul_(TAIL_BINS).int().clamp_(0, TAIL_BINS - 1)
            bins.index_fill_(0, ids, TAIL_BINS - 1)  # the best are subtracted from this bin below
            counts = torch.bincount(bins, minlength=TAIL_BINS).cpu().numpy().astype(np.int32)
        else:
            counts[-1] = len(logits)
        counts[-1] -= len(best)
    return Candidates(ids.int().cpu().numpy(), best.float().cpu().numpy(), counts, low, high)
