"""The next-token distribution as a frame carries it: the best logits exactly, the rest as a histogram.

With both, a page can apply any temperature to the whole vocabulary: the top tokens are exact, and taking each histogram
bin at its centre puts the rest's mass wrong by a factor of at most 1 ± (bin width / temperature)² / 24 on average over
a bin.
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
    """Of finite logits [V]."""
    best, ids = logits.topk(min(TOP, len(logits)))
    counts, low, high = np.zeros(TAIL_BINS, np.int32), 0.0, 0.0
    if len(best) < len(logits):
        low, high = float(logits.min()), float(best[-1])
        if low < high:
            # Not divided by a bin's width, which may be too small for float32.
            bins = (logits - low).div_(high - low).mul_(TAIL_BINS).int().clamp_(0, TAIL_BINS - 1)
            bins.index_fill_(0, ids, TAIL_BINS - 1)  # from where the best are taken off
            counts = torch.bincount(bins, minlength=TAIL_BINS).cpu().numpy().astype(np.int32)
        else:
            counts[-1] = len(logits)
        counts[-1] -= len(best)
    return Candidates(ids.int().cpu().numpy(), best.float().cpu().numpy(), counts, low, high)
