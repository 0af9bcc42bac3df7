"""The distribution of a run's next token: what the choice and the frame of a step need of the logits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, isfinite, log

import numpy as np
import torch
from torch import Tensor

from kvscope.model.engine.candidates import Candidates, best_and_rest, candidates, candidates_of
from kvscope.model.engine.packing import on_host


class NotFinite(ArithmeticError):
    """The model's logits contain NaN or infinity, so no token can be chosen."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The `best` token (the first of equals) with the `largest` logit, and sums in float64 over all tokens: `total` of
    e^(logit − largest), and `weighted` of that times (logit − largest).
    """

    best: int
    largest: float
    total: float
    weighted: float

    @property
    def log_z(self) -> float:
        """The logarithm of the sum of e^logit."""
        return self.largest + log(self.total)

    @property
    def entropy(self) -> float:
        """−Σ p · log₂ p of softmax of the logits, in bits."""
        return max(0.0, log(self.total) - self.weighted / self.total) / log(2)

    def probability(self, logit: float) -> float:
        """Returns the probability of a token with this logit."""
        return exp(logit - self.largest) / self.total


class Distribution:
    """The next token's distribution from `logits` [V].

    `summary` and `best`, if a pass computed them; otherwise they are computed when they are read.
    """

    def __init__(self, logits: Tensor, summary: Summary | None = None, best: Candidates | None = None):
        self.logits = logits
        if summary is not None:
            self.summary = summary
        if best is not None:
            self.candidates = best

    @cached_property
    def summary(self) -> Summary:
        """Raises NotFinite."""
        (summary,) = summaries(*on_host([sums(self.logits[None])]))
        if summary is None:
            raise NotFinite("the model's logits contain NaN or infinity")
        return summary

    @cached_property
    def candidates(self) -> Candidates:
        """The best tokens and a histogram of the others."""
        return candidates(self.logits)


def described(logits: Tensor) -> list[Tensor]:
    """Computes what `distributions` needs of logits [N, V], without waiting for the device."""
    return [sums(logits), *best_and_rest(logits)]


def distributions(logits: Tensor, summed: np.ndarray, *best: np.ndarray) -> list[Distribution]:
    """Returns the distribution of each row of logits, from the values that `described`, or `sums` alone, computes."""
    shown = candidates_of(*best) if best else [None] * len(logits)
    return list(map(Distribution, logits, summaries(summed), shown))


def sums(logits: Tensor) -> Tensor:
    """Computes the fields of `Summary` of each row of logits [N, V]: F64 [4, N]."""
    wide = logits.double()
    largest, best = wide.max(dim=-1, keepdim=True)  # of equals, torch returns the first
    below = wide - largest
    weights = below.exp()
    totals = (weights.sum(-1), (weights * below).sum(-1))
    return torch.stack((best.squeeze(-1).double(), largest.squeeze(-1), *totals))


def summaries(summed: np.ndarray) -> list[Summary | None]:
    """Returns the summary of each row from `sums`, None if a logit is NaN or infinite: then so is the weighted sum."""
    return [Summary(int(best), *others) if isfinite(others[-1]) else None for best, *others in summed.T.tolist()]


def check_finite(logits: Tensor) -> None:
    """Raises NotFinite if a logit is NaN or infinite."""
    if not isfinite(float(logits.sum(dtype=torch.float64))):  # a float64 sum of finite float32 numbers is finite
        raise NotFinite("the model's logits contain NaN or infinity")
